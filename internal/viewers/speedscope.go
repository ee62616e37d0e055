package viewers

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"prywalk/internal/view"

	"github.com/google/pprof/profile"
)

// The names of speedscope's file-format-schema.
type (
	speedscopeFrame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	speedscopeProfile struct {
		Type    string    `json:"type"`
		Name    string    `json:"name"`
		Unit    string    `json:"unit"`
		Start   int64     `json:"startValue"`
		End     int64     `json:"endValue"`
		Samples [][]int32 `json:"samples"`
		Weights []int64   `json:"weights"`
	}
	speedscopeFile struct {
		Schema   string               `json:"$schema"`
		Name     string               `json:"name"`
		Exporter string               `json:"exporter"`
		Shared   speedscopeShared     `json:"shared"`
		Profiles []*speedscopeProfile `json:"profiles"`
	}
	speedscopeShared struct {
		Frames []speedscopeFrame `json:"frames"`
	}
)

// speedscopeUnits are the units that Speedscope knows.
var speedscopeUnits = []string{"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}

// Speedscope writes the profile for speedscope.app: one list of weighted samples for
// each thread, in order of time where the profile keeps it.
func Speedscope(w io.Writer, p *profile.Profile, o view.Options) error {
	o.Lines = false
	d, err := view.New(p, o)
	if err != nil {
		return err
	}
	s := d.Summary()
	file := speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json",
		Name: cmp.Or(o.Title, s.Target), Exporter: "prywalk"}
	for _, g := range d.Grouped("thread") {
		if g.Value > 0 {
			file.Profiles = append(file.Profiles, speedscopeThread(d, g))
		}
	}
	files := d.Places()
	file.Shared.Frames = make([]speedscopeFrame, len(d.Frames))
	for i, f := range d.Frames {
		file.Shared.Frames[i] = speedscopeFrame{Name: f.Name, File: cmp.Or(files[int32(i)].File, f.Module),
			Line: files[int32(i)].Line}
	}
	buf := bufio.NewWriter(w)
	if err := json.NewEncoder(buf).Encode(&file); err != nil {
		return err
	}
	return buf.Flush()
}

func speedscopeThread(d *view.Data, g *view.Group) *speedscopeProfile {
	t := &speedscopeProfile{Type: "sampled", Name: g.Name, Unit: "none", Samples: [][]int32{}, Weights: []int64{}}
	if slices.Contains(speedscopeUnits, d.Unit) {
		t.Unit = d.Unit
	}
	view.ByTime(g.Samples)
	for _, s := range g.Samples {
		v := s.Value[d.Value]
		if v <= 0 { // the schema allows no negative weights
			continue
		}
		st := slices.Clone(d.Stack(s))
		slices.Reverse(st)
		t.Samples = append(t.Samples, st)
		t.Weights = append(t.Weights, v)
		t.End += v
	}
	return t
}
