// SPDX-License-Identifier: Apache-2.0

package viewers

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/view"

	"github.com/google/pprof/profile"
)

// Names of speedscope's file-format-schema.
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

// Speedscope writes a list of weighted samples per thread, in order of time if recorded.
func Speedscope(w io.Writer, p *profile.Profile, o view.Options) error {
	o.Lines = false
	d, err := view.New(p, o)
	if err != nil {
		return err
	}
	defer d.Close()
	s := d.Summary()
	buf := bufio.NewWriter(d.Writer(w))
	out := &speedscopeWriter{d: d, to: buf}
	out.beginList(&speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json",
		Name: cmp.Or(o.Title, s.Target), Exporter: "prywalk"}, "profiles")
	threads := 0
	for _, g := range d.Grouped("thread") {
		if g.Value > 0 {
			out.comma(threads)
			out.thread(g)
			threads++
		}
	}
	out.text(`],"shared":{"frames":[`)
	files := d.Places()
	for i, f := range d.Frames {
		out.comma(i)
		out.value(&speedscopeFrame{Name: f.Name, File: cmp.Or(files[int32(i)].File, f.Module),
			Line: files[int32(i)].Line})
	}
	out.text("]}}\n")
	return cmp.Or(d.Err(), out.err, buf.Flush())
}

// speedscopeWriter streams the file, since each sample has its whole stack.
type speedscopeWriter struct {
	d    *view.Data
	to   *bufio.Writer
	err  error
	line []byte
}

func (sw *speedscopeWriter) text(s string) {
	if sw.err == nil {
		_, sw.err = sw.to.WriteString(s)
	}
}

func (sw *speedscopeWriter) comma(i int) {
	if i > 0 {
		sw.text(",")
	}
}

func (sw *speedscopeWriter) encode(v any) string {
	text, err := json.Marshal(v)
	sw.err = cmp.Or(sw.err, err)
	return string(text)
}

func (sw *speedscopeWriter) value(v any) { sw.text(sw.encode(v)) }

// beginList writes an object up to the entries of a list.
func (sw *speedscopeWriter) beginList(object any, list string) {
	sw.text(strings.TrimSuffix(sw.encode(object), "}") + `,"` + list + `":[`)
}

// writeStack writes a stack, outermost frame first.
func (sw *speedscopeWriter) writeStack(stack []int32) {
	sw.text("[")
	for i, f := range slices.Backward(stack) {
		sw.line = strconv.AppendInt(sw.line[:0], int64(f), 10)
		if i > 0 {
			sw.line = append(sw.line, ',')
		}
		sw.text(string(sw.line))
	}
	sw.text("]")
}

func (sw *speedscopeWriter) thread(g *view.Group) {
	unit := "none"
	if slices.Contains(speedscopeUnits, sw.d.Unit) {
		unit = sw.d.Unit
	}
	view.ByTime(g.Samples)
	// The schema allows no negative weights.
	list := slices.DeleteFunc(slices.Clone(g.Samples),
		func(s *profile.Sample) bool { return s.Value[sw.d.Value] <= 0 })
	sw.beginList(&speedscopeProfile{Type: "sampled", Name: g.Name, Unit: unit}, "samples")
	for i := 0; i < len(list) && sw.err == nil && sw.d.Err() == nil; i++ {
		sw.comma(i)
		sw.writeStack(sw.d.Stack(list[i]))
	}
	sw.text(`],"weights":[`)
	end := int64(0)
	for i, s := range list {
		v := s.Value[sw.d.Value]
		end += v
		sw.comma(i)
		sw.text(strconv.FormatInt(v, 10))
	}
	sw.text(`],"endValue":` + strconv.FormatInt(end, 10) + "}")
}
