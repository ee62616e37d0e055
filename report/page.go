// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

const (
	// maxPageNodes is the number of call paths above which those under minPageShare of all values are merged.
	maxPageNodes = 30_000
	minPageShare = 0.0005
	// maxPageThreads is the number of threads above which those of equal names in a process are merged.
	maxPageThreads = 20_000
)

// Bytes of the page's parts with text.
const (
	pageNodeCost  = 128
	pageRowCost   = 320
	pageValueCost = 96
	pageTextCost  = 128
	pageByteCost  = 24 // any character may become an escape
)

// page is the data of the HTML page. Records are flat lists of numbers in the order of the comments; texts are indices
// of Strings.
type page struct {
	Title      string `json:"title"`
	conclusion string
	Facts      [][2]string   `json:"facts"`
	Comments   []pageComment `json:"comments"`
	Types      [][2]string   `json:"types"` // name, unit
	Value      int           `json:"value"` // index of the type that is shown first
	// Effective is, for each type of values, the number of independent samples that would be as exact; 0 if unknown.
	Effective []float64 `json:"effective"`
	Strings   []string  `json:"strings"`
	Frames    []int     `json:"frames"`   // name, module, file, line, flags
	Nodes     []int32   `json:"nodes"`    // parent, frame; the root is not listed: the first is node 1
	Threads   []int     `json:"threads"`  // name, comm, tid, pid
	Contexts  []int     `json:"contexts"` // thread, state, wait, owner; one that is a guess begins with ~
	Rows      []int64   `json:"rows"`     // node, context, a value per type
	Note      string    `json:"note"`     // which boxes are merged, or ""
	// Own means that the program's own functions are shown first, with what they called folded; Interpreter is the
	// program's file.
	Own         bool              `json:"own,omitempty"`
	Interpreter string            `json:"interpreter,omitempty"`
	Often       map[string]string `json:"often,omitempty"` // by frame and library
	Diff        *pageDiff         `json:"diff,omitempty"`
	// Times is nil for a profile without time stamps.
	Times *pageTimes `json:"times,omitempty"`
	// Lines is, with [Options].SourceDir, each node's line, 0 if unknown; Sources has the text of functions.
	Lines   []int        `json:"lines,omitempty"`
	Sources []pageSource `json:"sources,omitempty"`
}

type pageBuilder struct {
	data       *data
	page       page
	tree       *view.CallTree
	magnitudes []int64 // per node and type: sums of absolute values
	strings    map[string]int
	threads    map[pageThread]int
	contexts   map[[4]int]int
	rowAt      map[[2]int32]int32
	rows       []pageRow
	intervals  []pageInterval
	likely     map[*profile.Sample]int64
	merge      bool
	lines      *view.FrameTable // of tree, with [Options].SourceDir; nil means that it has the data's own
	functionOf map[int32]int32  // the data's frames of these
}

type pageRow struct {
	node, context int32
	values        []int64
}

func (d *data) page() *page {
	b := &pageBuilder{data: d, tree: d.NewCallTree(),
		strings: map[string]int{}, threads: map[pageThread]int{}, contexts: map[[4]int]int{}, rowAt: map[[2]int32]int32{},
		functionOf: map[int32]int32{}}
	if !isPart(d.Filters) {
		b.likely = guessedOwners(d.Profile)
	}
	if d.Options.SourceDir != "" {
		b.lines = d.Table.WithLines()
	}
	b.head()
	b.magnitudes = make([]int64, len(d.Profile.SampleType))
	timed := b.isTimed()
	for _, s := range d.Profile.Sample {
		b.sample(s, timed)
	}
	if b.data.Memory.Err() != nil { // memory was refused
		return &b.page
	}
	kept := b.prune()
	numbers := b.writeRows(kept)
	b.writeLines()
	b.writeFrames()
	if timed {
		b.writeTimes(numbers)
	}
	b.page.Strings = tabular.Printables(b.page.Strings)
	return &b.page
}

func (b *pageBuilder) head() {
	s := b.data.Summary()
	b.merge = s.Threads > maxPageThreads
	b.page.Title = printable.String(s.Target)
	b.page.Value, b.page.conclusion = b.data.ValueIndex, b.data.Conclusion()
	for i, t := range b.data.Profile.SampleType {
		b.page.Types = append(b.page.Types, [2]string{t.Type, t.Unit})
		b.page.Effective = append(b.page.Effective, b.data.PrecisionOf(i).N)
	}
	if a := b.data.Application(); a != nil {
		b.page.Own, b.page.Interpreter, b.page.Often = true, a.Interpreter, map[string]string{}
		b.addOften(a)
	}
	for _, c := range b.data.Profile.Comments {
		b.page.Comments = append(b.page.Comments, newPageComment(c))
	}
	c := b.data.Coverage()
	b.page.Facts = append(facts(&s, &c), b.completeFacts()...)
	notes := b.data.Notes(b.data.Rows(b.data.Profile.Sample), recordAgain)
	for _, line := range append([]string{b.data.hiddenIntervals(), b.data.UnnamedTimeText(&c), b.data.WhyIncomplete()},
		notes...) {
		if line != "" {
			b.page.Comments = append(b.page.Comments, pageComment{Text: printable.String(line)})
		}
	}
}

func (b *pageBuilder) addOften(a *view.Application) {
	for own, folds := range a.Folds {
		for _, f := range folds {
			if text := b.data.oftenText(f); text != "" {
				b.page.Often[fmt.Sprintf("%d %s", own, printable.String(f.Library))] = text
			}
		}
	}
}

type pageComment struct {
	Text string   `json:"text"`
	More []string `json:"more,omitempty"`
}

func newPageComment(comment string) (c pageComment) {
	first, rest := divideComment(comment)
	c.Text = printable.String(cmp.Or(first, "recording details"))
	if rest != "" {
		c.More = tabular.Printables(clauses(rest))
	}
	return c
}

func facts(s *view.Summary, c *view.SymbolCoverage) (f [][2]string) {
	add := func(k, v string) { f = append(f, [2]string{k, v}) }
	if !s.Start.IsZero() {
		add("recorded", s.Start.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if s.Duration > 0 {
		add("duration", tabular.Nanos(s.Duration.Nanoseconds()))
	}
	if s.Rate > 0 {
		add("rate", tabular.TrimFloat(s.Rate)+" Hz")
	}
	if s.Processes > 1 {
		add("processes", tabular.Thousands(int64(s.Processes)))
	}
	if s.Threads > 0 {
		add("threads", tabular.Thousands(int64(s.Threads)))
	}
	add("samples", tabular.Thousands(s.Samples))
	if c.Share() >= 0 && !c.Negligible() {
		add("time attributed to a function", view.Percent(c.Share()))
	}
	return f
}

func (b *pageBuilder) completeFacts() (f [][2]string) {
	for _, fact := range []struct{ clock, text string }{
		{rec.TypeCPU, "CPU time with complete stacks"}, {rec.TypeWall, "wall time with complete stacks"},
	} {
		if share := b.data.complete(fact.clock); share != nil {
			f = append(f, [2]string{fact.text, view.Percent(*share)})
		}
	}
	return f
}

func (b *pageBuilder) sample(s *profile.Sample, timed bool) {
	if !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 }) {
		return
	}
	node := int32(0)
	b.addMagnitudes(node, s)
	for _, f := range slices.Backward(b.stack(s)) {
		node = b.tree.Child(node, f)
		b.addMagnitudes(node, s)
	}
	k := [2]int32{node, int32(b.contextIndex(s))}
	row, ok := b.rowAt[k]
	if !ok {
		if !b.data.Memory.Take(int64(pageRowCost + pageValueCost*len(s.Value))) {
			return
		}
		row = int32(len(b.rows))
		b.rowAt[k] = row
		b.rows = append(b.rows, pageRow{k[0], k[1], make([]int64, len(s.Value))})
	}
	view.Add(b.rows[row].values, s.Value)
	if timed {
		b.addInterval(row, s)
	}
}

func (b *pageBuilder) stack(s *profile.Sample) []int32 {
	functions := b.data.Table.Stack(s)
	if b.lines == nil {
		return functions
	}
	lines := b.lines.Stack(s)
	for i, f := range lines[:min(len(lines), len(functions))] { // equally long unless memory was refused
		b.functionOf[f] = functions[i]
	}
	return lines
}

func (b *pageBuilder) addMagnitudes(n int32, s *profile.Sample) {
	types := len(s.Value)
	if need := (int(n) + 1) * types; need > len(b.magnitudes) {
		if !b.data.Memory.Take(int64(pageNodeCost + 16*(need-len(b.magnitudes)))) {
			return
		}
		b.magnitudes = append(b.magnitudes, make([]int64, need-len(b.magnitudes))...)
	}
	for i, v := range s.Value {
		b.magnitudes[int(n)*types+i] += max(v, -v)
	}
}

func (b *pageBuilder) contextIndex(s *profile.Sample) int {
	owner := cmp.Or(view.Label(s, rec.LabelOwner), rec.OwnerText(int(max(0, view.NumLabel(s, rec.LabelOwner)))))
	if likely := b.likely[s]; owner == "" && likely != 0 {
		owner = fmt.Sprint("~", likely)
	}
	k := [4]int{b.threadIndex(s), b.stringIndex(view.Label(s, rec.LabelState)), b.nameIndex(b.waitName(s)),
		b.stringIndex(owner)}
	i, ok := b.contexts[k]
	if !ok {
		i = len(b.contexts)
		b.contexts[k] = i
		b.page.Contexts = append(b.page.Contexts, k[:]...)
	}
	return i
}

func (b *pageBuilder) waitName(s *profile.Sample) string {
	if view.Label(s, rec.LabelWait) == "" {
		return ""
	}
	return b.data.WaitName(s)
}

type pageThread struct {
	name, comm string
	tid, pid   int64
}

func (b *pageBuilder) threadIndex(s *profile.Sample) int {
	t := pageThread{view.Label(s, rec.LabelThread), view.Label(s, rec.LabelComm), view.NumLabel(s, rec.LabelTID),
		view.NumLabel(s, rec.LabelPID)}
	if b.merge {
		t.tid = 0
	}
	i, ok := b.threads[t]
	if !ok {
		i = len(b.threads)
		b.threads[t] = i
		b.page.Threads = append(b.page.Threads, b.nameIndex(t.name), b.nameIndex(t.comm), int(t.tid), int(t.pid))
	}
	return i
}

// maxPageName bounds the names of threads and waits, in bytes.
const maxPageName = 1 << 9

func (b *pageBuilder) nameIndex(s string) int {
	if len(s) > maxPageName {
		s = strings.ToValidUTF8(s[:maxPageName], "") + "…"
	}
	return b.stringIndex(s)
}

func (b *pageBuilder) stringIndex(s string) int {
	if n, ok := b.strings[s]; ok {
		return n
	}
	if !b.data.Memory.Take(int64(pageTextCost + pageByteCost*len(s))) {
		s = ""
	}
	return rec.NumberIn(&b.page.Strings, b.strings, s)
}
