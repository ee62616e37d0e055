// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"math"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/incomplete"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
	"prywalk/internal/host/filememory"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// jsonShare is the part of --max-memory that the text of functions and calls may have.
const jsonShare = 8

// jsonValues has each type of value by name, times in nanoseconds, with "blocked".
type jsonValues map[string]int64

// jsonFunction has self and total values. File and Line are present with --lines.
type jsonFunction struct {
	// Name is the function's name, or an entry in brackets such as [not observed].
	Name string `json:"name"`
	// Module is the program's or library's file; of a managed function its package or file.
	Module string `json:"module"`
	// File is the source file, present with --lines where it is known.
	File string `json:"file,omitempty"`
	// Line is the source line, present with --lines where it is known.
	Line int `json:"line,omitempty"`
	// Reason is present for the outer end of incomplete stacks: the stop_reason of dump --json, such as no-rule.
	Reason string `json:"reason,omitempty"`
	// Self is the time in the function itself, by clock.
	Self jsonValues `json:"self"`
	// Total is the time in the function and in all that it called, by clock.
	Total jsonValues `json:"total"`
	// Within is the 95 % error of the shares of the clock that orders, with --ci; absent without such time.
	Within *jsonMargins `json:"within,omitempty"`
	// Children are the function's callees, in the tree.
	Children []jsonFunction `json:"children,omitempty"`
}

// jsonMargins are 95 % margins of shares of 0 to 1.
type jsonMargins struct {
	// Self is the margin of the share of self time.
	Self float64 `json:"self"`
	// Total is the margin of the share of total time.
	Total float64 `json:"total"`
}

// jsonIncomplete is why many stacks are incomplete.
type jsonIncomplete struct {
	// Reason is a stop_reason of dump --json, such as no-rule.
	Reason string `json:"reason"`
	// Message is the reason and the remedy as text.
	Message string `json:"message"`
	// Module has the outermost function of most of these stacks.
	Module string `json:"module,omitempty"`
	// Value is the clock that Share is of.
	Value string `json:"value"`
	// Share is the part of that clock's time under incomplete stacks with this reason, 0 to 1.
	Share float64 `json:"share"`
}

// jsonCut is what was left out of a list: functions, and their self share of the chosen value.
type jsonCut struct {
	// Functions is the number of functions that were left out; in the tree, of calls.
	Functions int `json:"functions"`
	// Share is their part of the self time by the clock that orders, 0 to 1.
	Share float64 `json:"share"`
}

type jsonList struct {
	// Functions are in the order of the table.
	Functions []jsonFunction `json:"functions,omitempty" schema:"required"`
	// Cut is what was left out: by --rows, or beyond an eighth of --max-memory of text. Absent if nothing.
	Cut *jsonCut `json:"cut,omitempty"`
}

type jsonGroup struct {
	// Name is the group's name, such as the thread's.
	Name string `json:"name"`
	// Total is the time of the group, by clock.
	Total jsonValues `json:"total"`
	// AtOnce is present with --by wait, for a recording with times.
	AtOnce *view.AtOnce `json:"at_once,omitempty"`
	// Held is present with --blame, for a lock whose owners were seen.
	Held *held `json:"held,omitempty"`
	jsonList
}

// jsonReport is a table of functions, on request with groups and a call tree. Lists and tree are written entry by
// entry.
type jsonReport struct {
	schema.Head
	// Conclusion says in one line where the time is, and what it waits for; absent without time.
	Conclusion string `json:"conclusion,omitempty"`
	// Target is what was recorded: a process, processes or a command.
	Target string `json:"target"`
	// Recorded is when the recording began: RFC 3339, UTC.
	Recorded string `json:"recorded,omitempty"`
	// Seconds is the length of the recording, in seconds.
	Seconds float64 `json:"seconds"`
	// Threads is the number of threads.
	Threads int `json:"threads"`
	// Value is the clock that orders: cpu, wall, runqueue, blocked or samples.
	Value string `json:"value"`
	// Named is the share of CPU time that is attributed to a function by name, 0 to 1.
	Named *float64 `json:"named,omitempty"`
	// Bounded is the share of CPU time that is attributed to a function by address only, such as server+0x1600, 0 to 1.
	Bounded float64 `json:"named_by_bounds,omitempty"`
	// Complete is the share of the samples with complete stacks, 0 to 1.
	Complete *float64 `json:"complete,omitempty"`
	// CompleteCPU is the share of the selection's CPU time with complete stacks, 0 to 1.
	CompleteCPU *float64 `json:"complete_cpu,omitempty"`
	// CompleteWall is the share of the selection's wall time with complete stacks, 0 to 1.
	CompleteWall *float64 `json:"complete_wall,omitempty"`
	// Incomplete is the main reason of incomplete stacks, present if they are more than 1 % of the time.
	Incomplete *jsonIncomplete `json:"incomplete,omitempty"`
	// Total is the time of the selection, by clock: samples, wall, runqueue, cpu and blocked, times in nanoseconds.
	Total jsonValues `json:"total"`
	jsonList
	// Groups are present with --by.
	Groups []jsonGroup `json:"groups,omitempty"`
	// Tree is the call tree of the clock that orders, with --tree. Its root is named all.
	Tree *jsonFunction `json:"tree,omitempty"`
	// TreeCut is what was left out of it, the calls with the least time: by --rows, or beyond an eighth of --max-memory
	// of text. Absent if nothing.
	TreeCut *jsonCut `json:"tree_cut,omitempty"`
}

// jsonForm writes a selection as JSON.
type jsonForm struct {
	data *data
	room int64 // bytes that functions and calls may still have
}

// JSON writes the table as one line of JSON, on request with groups and the call tree. Options.N limits functions; 0
// means all.
func JSON(w io.Writer, p *profile.Profile, tree bool, o Options) error {
	return view.Write(w, view.WithBlocked(p), o, func(d *view.Data, to io.Writer) error {
		return (&jsonForm{&data{d}, filememory.Process().Total() / jsonShare}).write(to, tree)
	})
}

func (d *jsonForm) write(to io.Writer, tree bool) error {
	s, c := d.data.Summary(), d.data.Coverage()
	r := jsonReport{
		Conclusion: d.data.Conclusion(), Target: s.Target, Seconds: s.Duration.Seconds(), Threads: s.Threads,
		Value: d.data.Clock(), Total: d.values(d.data.Sums(d.data.Profile.Sample)),
	}
	if !s.Start.IsZero() {
		r.Recorded = s.Start.UTC().Format(time.RFC3339)
	}
	if share := c.Share(); share >= 0 {
		r.Named, r.Bounded = &share, c.AddressOnly()
	}
	if s.Complete >= 0 {
		r.Complete = &s.Complete
	}
	r.CompleteCPU, r.CompleteWall = d.data.complete(rec.TypeCPU), d.data.complete(rec.TypeWall)
	if e, clock := d.data.Incomplete(); e.Reason != "" {
		r.Incomplete = &jsonIncomplete{e.Reason, e.Next(), e.Module, clock, e.Share}
	}
	out := printable.NewJSONWriter(to)
	out.Begin(r, "functions")
	d.functions(out, d.data.Profile.Sample)
	if d.data.Options.By != "" {
		d.jsonGroups(out)
	}
	if tree {
		out.Text(`,"tree":`)
		d.jsonTree(out)
	}
	out.Text("}\n")
	return out.Err()
}

func (d *jsonForm) jsonGroups(out *printable.JSONWriter) {
	out.Text(`,"groups":[`)
	for i, g := range d.data.Groups(d.data.Options.By) {
		out.Comma(i)
		j := jsonGroup{Name: g.Name, Total: d.values(d.data.Sums(g.Samples))}
		switch d.data.Options.By {
		case "lock":
			j.Held = heldOf(g.Samples[0])
		case "wait":
			j.AtOnce = d.data.AtOnce(g.Samples)
		}
		out.Begin(j, "functions")
		d.functions(out, g.Samples)
		out.Text("}")
	}
	out.Text("]")
}

func (d *data) complete(clock string) *float64 {
	c, ok := d.Completeness(clock)
	if !ok {
		return nil
	}
	share := c.Share()
	return &share
}

func (d *jsonForm) values(list []int64) jsonValues {
	out := jsonValues{}
	for i, t := range d.data.Profile.SampleType {
		v := list[i]
		if per, ok := tabular.NanosPer[t.Unit]; ok && per != 1 {
			v = int64(float64(v) * per)
		}
		out[t.Type] = v
	}
	return out
}

func (d *jsonForm) functions(to *printable.JSONWriter, samples []*profile.Sample) {
	rows, all, taken := d.data.SumFunctions(samples)
	shown, limit := 0, min(len(rows), d.data.Limit(len(rows)))
	for ; shown < limit && to.Err() == nil && d.data.Memory.Err() == nil; shown++ {
		r := &rows[shown]
		f := d.jsonFunction(r.Frame, all[r.Frame].Self, all[r.Frame].Total)
		if d.data.Options.Intervals && d.data.Precision.N > 0 {
			f.Within = &jsonMargins{d.data.Precision.Margin(float64(r.Self) / d.data.Precision.Total),
				d.data.Precision.Margin(float64(r.Total) / d.data.Precision.Total)}
		}
		text := to.Encode(f)
		if d.room -= int64(len(text) + 1); d.room < 0 {
			break
		}
		to.Comma(shown)
		to.Bytes(text)
	}
	to.Text("]")
	if cut := (jsonCut{Functions: len(rows) - shown}); cut.Functions > 0 {
		whole := int64(0)
		for i := range rows {
			self := all[rows[i].Frame].Self[d.data.ValueIndex]
			if whole += self; i >= shown {
				cut.Share += float64(self)
			}
		}
		cut.Share /= max(1, float64(whole))
		to.Text(`,"cut":`)
		to.Value(cut)
	}
	d.data.Memory.Give(taken)
}

func (d *jsonForm) jsonFunction(n int32, self, total []int64) jsonFunction {
	f := &d.data.Table.Frames[n]
	reason, _ := incomplete.Reason(f.Name)
	return jsonFunction{Name: f.Name, Module: f.Module, File: f.File, Line: f.Line, Reason: reason, Self: d.values(self),
		Total: d.values(total)}
}

func (d *jsonForm) jsonTree(out *printable.JSONWriter) {
	t := d.data.CallTree()
	t.SortChildren()
	shown, cut := d.pruneTree(out, t)
	sums := d.sumNodes(t, shown)
	if d.data.Memory.Err() != nil {
		return
	}
	d.writeNodes(out, t, sums)
	if cut.Functions > 0 {
		out.Text(`,"tree_cut":`)
		out.Value(cut)
	}
}

// sumNodes returns all clocks' values of the shown nodes.
func (d *jsonForm) sumNodes(t *view.CallTree, shown []bool) map[int32]*view.FunctionSums {
	sums, types := map[int32]*view.FunctionSums{}, len(d.data.Profile.SampleType)
	for n, ok := range shown {
		if ok && d.data.Memory.Take(view.SumsCost(types)) {
			sums[int32(n)] = &view.FunctionSums{Self: make([]int64, types), Total: make([]int64, types)}
		}
	}
	for _, s := range d.data.Profile.Sample {
		n, known, stack := int32(0), true, d.data.Table.Stack(s)
		for i := len(stack); known && sums[n] != nil; i-- {
			view.Add(sums[n].Total, s.Value)
			if i == 0 {
				view.Add(sums[n].Self, s.Value)
				break
			}
			n, known = t.Find(n, stack[i-1])
		}
	}
	return sums
}

// pruneTree keeps the N nodes with most time whose text has room, without those whose caller is not among them: only
// negative values let a callee have more than its caller.
func (d *jsonForm) pruneTree(out *printable.JSONWriter, t *view.CallTree) (shown []bool, cut jsonCut) {
	all := len(t.Nodes) - 1
	taken := 5 * int64(len(t.Nodes))
	d.data.Memory.Take(taken)
	defer d.data.Memory.Give(taken)
	shown = make([]bool, len(t.Nodes))
	shown[0] = true
	lengths := map[int32]int64{} // by frame
	for _, n := range byTotal(t)[:min(all, d.data.Limit(all))] {
		f := t.Nodes[n].Frame
		if lengths[f] == 0 {
			lengths[f] = d.nodeLength(out, f)
		}
		if d.room -= lengths[f]; d.room < 0 {
			break
		}
		shown[n] = true
	}
	whole := int64(0)
	for n := 1; n <= all; n++ { // a caller has a lower number
		node := &t.Nodes[n]
		whole += node.Self
		if shown[n] = shown[n] && shown[node.Parent]; !shown[n] {
			cut.Functions++
			cut.Share += float64(node.Self)
		}
	}
	cut.Share /= float64(max(1, whole))
	for i := range t.Nodes {
		t.Nodes[i].Children = slices.DeleteFunc(t.Nodes[i].Children, func(n int32) bool { return !shown[n] })
	}
	return shown, cut
}

// nodeLength returns the length of a node's text with the longest values.
func (d *jsonForm) nodeLength(out *printable.JSONWriter, frame int32) int64 {
	longest := slices.Repeat([]int64{math.MinInt64}, len(d.data.Profile.SampleType))
	return int64(len(out.Encode(d.jsonFunction(frame, longest, longest))) + len(`,,"children":[]`))
}

// writeNodes does not recurse: input determines the depth.
func (d *jsonForm) writeNodes(out *printable.JSONWriter, t *view.CallTree, sums map[int32]*view.FunctionSums) {
	of := func(n int32) jsonFunction {
		if n == 0 {
			return jsonFunction{Name: "all", Self: d.values(sums[n].Self), Total: d.values(sums[n].Total)}
		}
		return d.jsonFunction(t.Nodes[n].Frame, sums[n].Self, sums[n].Total)
	}
	type open struct {
		node int32
		next int
	}
	path := []open{}
	enter := func(n int32) {
		if len(t.Nodes[n].Children) > 0 {
			out.Begin(of(n), "children")
			path = append(path, open{node: n})
			return
		}
		out.Value(of(n))
	}
	for enter(0); len(path) > 0 && out.Err() == nil && d.data.Memory.Err() == nil; {
		last := &path[len(path)-1]
		children := t.Nodes[last.node].Children
		if last.next == len(children) {
			out.Text("]}")
			path = path[:len(path)-1]
			continue
		}
		out.Comma(last.next)
		last.next++
		enter(children[last.next-1])
	}
}
