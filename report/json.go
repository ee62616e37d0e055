package report

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

// jsonValues has a value for each type of the profile, by its name: times in nanoseconds. Prywalk's own also have
// "blocked", which is what wall has beyond cpu and runqueue.
type jsonValues map[string]int64

// jsonFunction is a function's own and total values. File and Line are there where lines are told apart, and known.
type jsonFunction struct {
	Name   string     `json:"name"`
	Module string     `json:"module"`
	File   string     `json:"file,omitempty"`
	Line   int        `json:"line,omitempty"`
	Self   jsonValues `json:"self"`
	Total  jsonValues `json:"total"`
	// Within is how far the shares of the chosen value may be from the true ones.
	Within *jsonMargins `json:"within,omitempty"`
}

// jsonMargins are margins of 95 % confidence, of shares of 0 to 1.
type jsonMargins struct {
	Self  float64 `json:"self"`
	Total float64 `json:"total"`
}

// jsonGroup is a group of samples.
type jsonGroup struct {
	Name      string         `json:"name"`
	Total     jsonValues     `json:"total"`
	Functions []jsonFunction `json:"functions"`
}

// jsonNode is one call path.
type jsonNode struct {
	jsonFunction
	Children []*jsonNode `json:"children,omitempty"`
}

// jsonReport is the whole. New fields may come; those that are there keep their meaning.
type jsonReport struct {
	Target    string         `json:"target"`
	Seconds   float64        `json:"seconds"`
	Threads   int            `json:"threads"`
	Value     string         `json:"value"`
	Named     *float64       `json:"named,omitempty"`
	Complete  *float64       `json:"complete,omitempty"`
	Total     jsonValues     `json:"total"`
	Functions []jsonFunction `json:"functions"`
	Groups    []jsonGroup    `json:"groups,omitempty"`
	Tree      *jsonNode      `json:"tree,omitempty"`
}

// JSON writes the table as one line of JSON, with groups where the options have them, and the whole call tree if asked
// for. Functions are in the order of the table; Options.N bounds them, and 0 is all.
func JSON(w io.Writer, p *profile.Profile, tree bool, o Options) error {
	if o.Value != view.TypeBlocked { // it comes as one more type, if there is what it follows from
		p = view.WithBlocked(p)
	}
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	s, c := d.Summary(), d.Coverage()
	r := jsonReport{
		Target: s.Target, Seconds: s.Duration.Seconds(), Threads: s.Threads, Value: d.Profile.SampleType[d.Value].Type,
		Total: d.values(d.sums(d.Profile.Sample)), Functions: d.functions(d.Profile.Sample),
	}
	if share := c.Share(); share >= 0 {
		r.Named = &share
	}
	if s.Complete >= 0 {
		r.Complete = &s.Complete
	}
	if o.By != "" {
		for _, g := range d.Grouped(o.By) {
			r.Groups = append(r.Groups, jsonGroup{g.Name, d.values(d.sums(g.Samples)), d.functions(g.Samples)})
		}
	}
	if tree {
		r.Tree = d.jsonTree()
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(printable.JSON(text), '\n'))
	return err
}

// values names the values of a list; times are in nanoseconds.
func (d *data) values(list []int64) jsonValues {
	out := jsonValues{}
	for i, t := range d.Profile.SampleType {
		v := list[i]
		if per, ok := tabular.NanosPer[t.Unit]; ok && per != 1 {
			v = int64(float64(v) * per)
		}
		out[t.Type] = v
	}
	return out
}

// sums adds up all types of values.
func (d *data) sums(samples []*profile.Sample) []int64 {
	sum := make([]int64, len(d.Profile.SampleType))
	for _, s := range samples {
		add(sum, s.Value)
	}
	return sum
}

func add(to, values []int64) {
	for i, v := range values {
		to[i] += v
	}
}

// functions has the rows of the table with all types of values. A function without the chosen one follows those that
// have some of it.
func (d *data) functions(samples []*profile.Sample) []jsonFunction {
	type sums struct{ self, total []int64 }
	all := map[int32]*sums{}
	seen := map[int32]int{}
	rows := d.Rows(samples)
	have := map[int32]bool{}
	for _, r := range rows {
		have[r.Frame] = true
	}
	for i, s := range samples {
		for depth, f := range d.Stack(s) {
			if all[f] == nil {
				all[f] = &sums{make([]int64, len(s.Value)), make([]int64, len(s.Value))}
				if !have[f] {
					rows = append(rows, view.Row{Frame: f})
				}
			}
			if depth == 0 {
				add(all[f].self, s.Value)
			}
			if seen[f] != i+1 {
				seen[f] = i + 1
				add(all[f].total, s.Value)
			}
		}
	}
	rows = rows[:min(len(rows), d.Limit(len(rows)))]
	out := make([]jsonFunction, len(rows))
	for i, r := range rows {
		out[i] = d.jsonFunction(r.Frame, all[r.Frame].self, all[r.Frame].total)
		if d.Options.Intervals {
			out[i].Within = &jsonMargins{d.Precision.Margin(float64(r.Self) / d.Precision.Total),
				d.Precision.Margin(float64(r.Total) / d.Precision.Total)}
		}
	}
	return out
}

func (d *data) jsonFunction(n int32, self, total []int64) jsonFunction {
	f := &d.Frames[n]
	return jsonFunction{Name: f.Name, Module: f.Module, File: f.File, Line: f.Line, Self: d.values(self),
		Total: d.values(total)}
}

// jsonTree is the call tree with all types of values, the children of a node in the order of the chosen one.
func (d *data) jsonTree() *jsonNode {
	t := view.NewTrie()
	self, total := [][]int64{make([]int64, len(d.Profile.SampleType))}, [][]int64{d.sums(d.Profile.Sample)}
	for _, s := range d.Profile.Sample {
		n := int32(0)
		for _, f := range slices.Backward(d.Stack(s)) {
			n = t.Child(n, f)
			if int(n) == len(self) {
				self, total = append(self, make([]int64, len(s.Value))), append(total, make([]int64, len(s.Value)))
			}
			add(total[n], s.Value)
			t.Nodes[n].Total += s.Value[d.Value]
		}
		add(self[n], s.Value)
	}
	t.SortChildren(d.Data)
	nodes := make([]*jsonNode, len(t.Nodes))
	for i := range t.Nodes { // a parent has a lower number than its children
		nodes[i] = &jsonNode{jsonFunction: jsonFunction{Name: "all", Self: d.values(self[i]), Total: d.values(total[i])}}
		if f := t.Nodes[i].Frame; f >= 0 {
			nodes[i].jsonFunction = d.jsonFunction(f, self[i], total[i])
		}
	}
	for i := range t.Nodes {
		for _, c := range t.Nodes[i].Children {
			nodes[i].Children = append(nodes[i].Children, nodes[c])
		}
	}
	return nodes[0]
}
