// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/view"

	"github.com/google/pprof/profile"
)

// Types of speedscope's file-format-schema.
type (
	speedscopeFrame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	speedscopeFile struct {
		Schema   string `json:"$schema"`
		Name     string `json:"name"`
		Exporter string `json:"exporter"`
	}
	speedscopeProfile struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		Unit  string `json:"unit"`
		Start int64  `json:"startValue"`
	}
)

var speedscopeUnits = []string{"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}

// Speedscope writes a list of weighted samples per thread with a positive sum, in order of time if recorded.
func Speedscope(w io.Writer, p *profile.Profile, o view.Options) error {
	o.Lines = false
	return view.Write(w, p, o, writeSpeedscope)
}

func writeSpeedscope(d *view.Data, to io.Writer) error {
	s, out := d.Summary(), printable.NewJSONWriter(to)
	out.Begin(&speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json",
		Name: s.Target, Exporter: "prywalk"}, "profiles")
	threads := 0
	for _, g := range d.Groups("thread") {
		if g.Value > 0 {
			out.Comma(threads)
			speedscopeThread(out, d, g)
			threads++
		}
	}
	out.Text(`],"shared":{"frames":[`)
	files := d.Places()
	for i, f := range d.Table.Frames {
		out.Comma(i)
		out.Value(&speedscopeFrame{Name: f.Name, File: cmp.Or(files[int32(i)].File, f.Module),
			Line: files[int32(i)].Line})
	}
	out.Text("]}}\n")
	return out.Err()
}

func speedscopeThread(out *printable.JSONWriter, d *view.Data, g *view.Group) {
	unit := "none"
	if slices.Contains(speedscopeUnits, d.Unit) {
		unit = d.Unit
	}
	view.SortByTime(g.Samples)
	// The schema allows no negative weights.
	list := slices.DeleteFunc(slices.Clone(g.Samples), func(s *profile.Sample) bool { return s.Value[d.ValueIndex] <= 0 })
	out.Begin(&speedscopeProfile{Type: "sampled", Name: g.Name, Unit: unit}, "samples")
	var stack []byte
	for i := 0; i < len(list) && out.Err() == nil && d.Memory.Err() == nil; i++ {
		out.Comma(i)
		stack = append(stack[:0], '[')
		for j, f := range slices.Backward(d.Table.Stack(list[i])) { // outermost first
			stack = strconv.AppendInt(stack, int64(f), 10)
			if j > 0 {
				stack = append(stack, ',')
			}
		}
		out.Bytes(append(stack, ']'))
	}
	out.Text(`],"weights":[`)
	end := int64(0)
	for i, s := range list {
		v := s.Value[d.ValueIndex]
		end += v
		out.Comma(i)
		out.Text(strconv.FormatInt(v, 10))
	}
	out.Text(`],"endValue":` + strconv.FormatInt(end, 10) + "}")
}
