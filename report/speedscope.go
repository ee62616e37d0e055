package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
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
func Speedscope(w io.Writer, p *profile.Profile, o Options) error {
	o.Lines = false
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	d.opts.By = "thread"
	s := d.summary()
	file := speedscopeFile{Schema: "https://www.speedscope.app/file-format-schema.json",
		Name: or(o.Title, s.Target), Exporter: "prywalk"}
	for _, g := range d.grouped() {
		if g.value > 0 {
			file.Profiles = append(file.Profiles, d.speedscopeThread(g))
		}
	}
	files := d.files()
	file.Shared.Frames = make([]speedscopeFrame, len(d.frames))
	for i, f := range d.frames {
		file.Shared.Frames[i] = speedscopeFrame{Name: f.name, File: or(files[int32(i)].file, f.module),
			Line: files[int32(i)].line}
	}
	buf := bufio.NewWriter(w)
	if err := json.NewEncoder(buf).Encode(&file); err != nil {
		return err
	}
	return buf.Flush()
}

func (d *data) speedscopeThread(g *groupOf) *speedscopeProfile {
	t := &speedscopeProfile{Type: "sampled", Name: g.name, Unit: "none", Samples: [][]int32{}, Weights: []int64{}}
	if slices.Contains(speedscopeUnits, d.unit) {
		t.Unit = d.unit
	}
	byTime(g.samples)
	for _, s := range g.samples {
		v := s.Value[d.value]
		if v <= 0 { // the schema allows no negative weights
			continue
		}
		st := slices.Clone(d.stack(s))
		slices.Reverse(st)
		t.Samples = append(t.Samples, st)
		t.Weights = append(t.Weights, v)
		t.End += v
	}
	return t
}

// byTime sorts samples by the end of their intervals; those without keep their order.
func byTime(samples []*profile.Sample) {
	slices.SortStableFunc(samples, func(a, b *profile.Sample) int {
		return cmp.Compare(number(a, rec.LabelEnd), number(b, rec.LabelEnd))
	})
}

// funcPos is where a function is in the source.
type funcPos struct {
	file string
	line int
}

// files gives each frame's source file and the line where its function begins.
func (d *data) files() map[int32]funcPos {
	at := map[int32]funcPos{}
	for _, l := range d.prof.Location {
		fs, ok := d.byLoc[l]
		if !ok {
			continue
		}
		i := 0
		for _, ln := range l.Line {
			if functionName(&ln) == "" {
				continue
			}
			if at[fs[i]].file == "" {
				at[fs[i]] = funcPos{ln.Function.Filename, int(cmp.Or(ln.Function.StartLine, ln.Line))}
			}
			i++
		}
	}
	return at
}
