// SPDX-License-Identifier: Apache-2.0

package top

import (
	"io"
	"strings"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

const groupRows = 5

const pipeWidth = 100

// WriteText writes a plain table: a number of functions (0 means all), and the largest threads and waits.
func WriteText(w io.Writer, snap *Snapshot, st State, s Screen, c Clock, functions int) error {
	var b strings.Builder
	put := func(lines ...string) {
		for _, l := range lines {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	table := func(head string, lines []string) {
		put("", s.paint(dim, head))
		put(lines...)
	}
	above := snap.headLines(s, &st)
	put(s.paint(bold, above[0]))
	put(above[1:]...)
	d := snap.by(c)
	var unnamed []string
	if snap.PendingNames == 0 {
		unnamed = d.Notes(d.Rows(d.Profile.Sample), "run top again")
	}
	lacks := []string{st.Trouble, snap.by(CPU).WhyIncomplete()}
	for _, n := range runstats.FirstNotes(snap.data.Profile.Comments, lacks, unnamed) {
		put(string(tabular.Paragraph(s.Width, "", printable.Line(n))))
	}
	if s.Width == 0 {
		s.Width = pipeWidth
	}
	rows, own := snap.functionTable(c, false)
	rows = firstRows(rows, functions)
	table(s.functionLines(d, rows, rows, own))
	if len(rows) == 0 {
		put(s.cut("  no " + string(c) + " time in this window"))
	}
	if own != nil {
		put(s.paint(dim, s.cut("… the program's own functions only; --json has all")))
	}
	table(s.groupLines(snap.by(Wall), firstRows(snap.groups(Wall, "wait"), groupRows), "wait"))
	table(s.groupLines(d, firstRows(snap.groups(c, "thread"), groupRows), "thread"))
	_, err := io.WriteString(w, b.String())
	return err
}

func firstRows[R any](rows []R, n int) []R {
	if n > 0 && len(rows) > n {
		return rows[:n]
	}
	return rows
}

// jsonValues has a value per clock, as in report --json, in nanoseconds.
type jsonValues struct {
	// Samples are ticks at which a stack was known, and kernel samples.
	Samples int64 `json:"samples"`
	// Wall is wall time, in nanoseconds.
	Wall int64 `json:"wall"`
	// RunQueue is the time in which threads were ready to run and did not run, in nanoseconds.
	RunQueue int64 `json:"runqueue"`
	// CPU is user and kernel time, in nanoseconds.
	CPU int64 `json:"cpu"`
	// blocked is the rest of Wall, in nanoseconds: asleep or stopped.
	Blocked int64 `json:"blocked"`
}

// valuesOf takes the values of [sampleTypes]. Blocked is that of the sums, as in the text.
func valuesOf(v []int64) jsonValues {
	return jsonValues{v[0], v[1], v[2], v[3], max(0, v[1]-v[2]-v[3])}
}

type jsonFunction struct {
	// Name is the function's name; until the names of a file are looked up, the file is one row.
	Name string `json:"name"`
	// Module is the program's or library's file; of a managed function its package or file.
	Module string `json:"module"`
	// Self is the time in the function itself, by clock.
	Self jsonValues `json:"self"`
	// Total is the time in the function and in all that it called, by clock.
	Total jsonValues `json:"total"`
}

type jsonGroup struct {
	// Name is the thread's name, or what a wait is for.
	Name string `json:"name"`
	// PID is the number of the thread's process.
	PID int `json:"pid,omitempty"`
	// TID is the thread's number.
	TID int `json:"tid,omitempty"`
	// Threads is how many threads were in this wait during the window, plus how many goroutines and tasks at a time.
	Threads int `json:"threads,omitempty"`
	// In is the program's innermost function that has most of the time.
	In string `json:"in,omitempty"`
	waits.Idleness
	// Total is the time, by clock.
	Total jsonValues `json:"total"`
}

// jsonTable is one refresh. Fields may be added; existing ones keep their meaning.
type jsonTable struct {
	schema.Head
	// Conclusion says in one line where the window's time is, and what it waits for; absent without time.
	Conclusion string `json:"conclusion,omitempty"`
	// Target is what is sampled.
	Target string `json:"target"`
	// Time is when the window ends: seconds since the Unix epoch.
	Time float64 `json:"time"`
	// Seconds is the length of the window, which the other fields are about.
	Seconds float64 `json:"seconds"`
	// Since is how long top has sampled, in seconds.
	Since float64 `json:"since"`
	// Threads is the number of threads.
	Threads int `json:"threads"`
	// Complete is the share of the samples with complete stacks, 0 to 1.
	Complete *float64 `json:"complete,omitempty"`
	// CompleteCPU is the share of the window's CPU time with complete stacks.
	CompleteCPU *float64 `json:"complete_cpu,omitempty"`
	// Notes are deadlocks, tasks that are not examined, and CPU quotas that were used up, of --once.
	Notes []string `json:"notes,omitempty"`
	// Trouble is why samples are refused.
	Trouble string `json:"trouble,omitempty"`
	// Ended reports that the sampling is over: no target is left, -d has passed, a signal came, or it failed.
	Ended bool `json:"ended,omitempty"`
	// Waiting is the number of addresses without a name yet.
	Waiting int `json:"names_to_come,omitempty"`
	// Total is the time of the window, by clock.
	Total jsonValues `json:"total"`
	// Functions are the rows of the table.
	Functions []jsonFunction `json:"functions"`
	// ByThread are the threads, idle ones last.
	ByThread []jsonGroup `json:"by_thread"`
	// ByWait are the waits, idle ones last.
	ByWait []jsonGroup `json:"by_wait"`
}

// WriteJSON writes a line of JSON with at most rowsOfEach functions, threads and waits each (0 means all).
func WriteJSON(w io.Writer, snap *Snapshot, st State, c Clock, rowsOfEach int) error {
	d := snap.by(c)
	t := jsonTable{
		Conclusion: d.Conclusion(), Notes: snap.data.Profile.Comments,
		Target: st.Target, Time: float64(snap.At.UnixMilli()) / 1e3,
		Seconds: snap.Length.Seconds(), Since: snap.Since.Seconds(),
		Threads: st.Threads, Trouble: st.Trouble, Ended: st.Ended,
		Waiting: snap.PendingNames, Total: valuesOf(d.Sums(d.Profile.Sample)),
		Functions: []jsonFunction{}, ByThread: []jsonGroup{}, ByWait: []jsonGroup{},
	}
	if st.Complete >= 0 {
		t.Complete = &st.Complete
	}
	if c, ok := d.Completeness(profile.TypeCPU); ok {
		share := c.Share()
		t.CompleteCPU = &share
	}
	rows, sums, _ := d.SumFunctions(d.Profile.Sample)
	for _, r := range firstRows(rows, rowsOfEach) {
		f := &d.Table.Frames[r.Frame]
		t.Functions = append(t.Functions, jsonFunction{f.Name, f.Module, valuesOf(sums[r.Frame].Self),
			valuesOf(sums[r.Frame].Total)})
	}
	for _, r := range firstRows(snap.groups(c, "thread"), rowsOfEach) {
		s := r.group.Samples[0]
		t.ByThread = append(t.ByThread, jsonGroup{Name: view.Label(s, profile.LabelThread), In: r.in,
			PID: int(view.NumLabel(s, profile.LabelPID)), TID: int(view.NumLabel(s, profile.LabelTID)),
			Total: valuesOf(d.Sums(r.group.Samples)), Idleness: r.idleness})
	}
	for _, r := range firstRows(snap.groups(Wall, "wait"), rowsOfEach) {
		t.ByWait = append(t.ByWait, jsonGroup{Name: r.name(), Threads: int(r.count), In: r.in,
			Total: valuesOf(d.Sums(r.group.Samples)), Idleness: r.idleness})
	}
	return printable.WriteJSON(w, t)
}
