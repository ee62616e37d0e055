// SPDX-License-Identifier: Apache-2.0

package top

import (
	"io"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
	"prywalk/internal/walk/waits"
)

const groupRows = 5

const pipeWidth = 100

// WriteText writes a plain table: a number of functions (0: all), and the largest threads and waits.
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
	if st.Trouble != "" {
		put(s.cut(printable.Line(st.Trouble)))
	}
	if cure := snap.whyIncomplete(); cure != "" {
		put(s.cut(cure))
	}
	notes := snap.nameNotes(c)
	width := s.Width
	if width == 0 {
		s.Width = pipeWidth
	}
	rows, own := snap.functionTable(c, snap.precision(c), false)
	rows = firstRows(rows, functions)
	table(s.functionLines(rows, c, snap.precision(c), widthOf(rows)))
	if len(rows) == 0 {
		put(s.cut("  no " + string(c) + " time in this window"))
	}
	if own {
		put(s.paint(dim, s.cut("… the program's own functions only; --json has all")))
	}
	waits := firstRows(snap.Waits(Wall), groupRows)
	table(s.groupLines(waits, "wait", Wall, snap.precision(Wall)))
	threads := firstRows(snap.Threads(c), groupRows)
	table(s.groupLines(threads, "thread", c, snap.precision(c)))
	for _, n := range notes {
		put("", string(tabular.Paragraph(width, "  ", n)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func firstRows[R any](rows []R, n int) []R {
	if n > 0 && len(rows) > n {
		return rows[:n]
	}
	return rows
}

// jsonValues has a value per clock, as in report --json, in ns.
type jsonValues struct {
	// Samples are ticks at which a stack was known, and kernel samples.
	Samples int64 `json:"samples"`
	// Wall is wall time, in ns.
	Wall int64 `json:"wall"`
	// RunQueue is the time in which threads were ready to run and did not run, in ns.
	RunQueue int64 `json:"runqueue"`
	// CPU is user and kernel time, in ns.
	CPU int64 `json:"cpu"`
	// blocked is the rest of Wall, in ns: asleep or stopped.
	Blocked int64 `json:"blocked"`
}

func (v Values) json() jsonValues {
	return jsonValues{max(0, v.Samples), v.Wall, v.RunQueue, v.CPU, v.blocked()}
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

// WriteJSON writes a line of JSON with at most rowsOfEach functions, threads and waits each (0: all).
func WriteJSON(w io.Writer, snap *Snapshot, st State, c Clock, rowsOfEach int) error {
	t := jsonTable{
		Conclusion: snap.conclusion(),
		Target:     st.Target, Time: float64(snap.At.UnixMilli()) / 1e3,
		Seconds: snap.Length.Seconds(), Since: snap.Since.Seconds(),
		Threads: st.Threads, Trouble: st.Trouble, Ended: st.Ended,
		Waiting: snap.PendingNames, Total: snap.total().json(),
		Functions: []jsonFunction{}, ByThread: []jsonGroup{}, ByWait: []jsonGroup{},
	}
	if st.Complete >= 0 {
		t.Complete = &st.Complete
	}
	if c, ok := snap.completeCPU(); ok {
		share := c.Share()
		t.CompleteCPU = &share
	}
	rows := snap.functions()
	sortFunctions(rows, c)
	rows = firstRows(rows, rowsOfEach)
	for i := range rows {
		r := &rows[i]
		t.Functions = append(t.Functions, jsonFunction{r.Name, r.Module, r.Self.json(), r.Total.json()})
	}
	for _, r := range firstRows(snap.Threads(c), rowsOfEach) {
		th := snap.threads[r.id]
		t.ByThread = append(t.ByThread, jsonGroup{Name: th.name, PID: th.pid, TID: th.tid, In: r.MainFunction(),
			Total: r.Values.json(), Idleness: r.Idleness})
	}
	for _, r := range firstRows(snap.Waits(Wall), rowsOfEach) {
		t.ByWait = append(t.ByWait, jsonGroup{Name: r.Name(), Threads: r.Threads, In: r.MainFunction(),
			Total: r.Values.json(), Idleness: r.Idleness})
	}
	return printable.WriteJSON(w, t)
}
