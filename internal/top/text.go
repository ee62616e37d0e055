// SPDX-License-Identifier: Apache-2.0

package top

import (
	"encoding/json"
	"io"
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/schema"
	"prywalk/internal/tabular"
)

const groupRows = 5

// pipeWidth is for no terminal.
const pipeWidth = 100

// WriteText writes plain text: so many functions (0: all), and the largest threads and waits.
func WriteText(w io.Writer, o *Snapshot, st State, s Screen, c Clock, functions int) error {
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
	above := o.headLines(s, &st, WholeProgram)
	put(s.paint(bold, above[0]), above[1])
	if st.Trouble != "" {
		put(s.cut(printable.Line(st.Trouble)))
	}
	if cure := o.whyIncomplete(WholeProgram); cure != "" {
		put(s.cut(cure))
	}
	if st.HeldUp != "" {
		put(s.cut(printable.Line(st.HeldUp)))
	}
	notes := o.notes(&st, c)
	width := s.Width
	if width == 0 {
		s.Width = pipeWidth
	}
	rows := deleteEmpty(o.Functions(WholeProgram), c)
	SortFunctions(rows, c, BySelf)
	rows = firstRows(rows, functions)
	table(s.functionLines(rows, o.Changes(rows, false), c, o.precision(WholeProgram, c), widthOf(rows)))
	waits := o.Waits(WholeProgram, Wall)
	table(s.groupLines(waits[:min(len(waits), groupRows)], "wait", Wall, o.precision(WholeProgram, Wall)))
	threads := o.Threads(WholeProgram, c)
	table(s.groupLines(threads[:min(len(threads), groupRows)], "thread", c, o.precision(WholeProgram, c)))
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
	Samples  int64 `json:"samples"`
	Wall     int64 `json:"wall"`
	RunQueue int64 `json:"runqueue"`
	CPU      int64 `json:"cpu"`
	Blocked  int64 `json:"blocked"`
}

func (v Values) json() jsonValues {
	return jsonValues{max(0, v.Samples), v.Wall, v.RunQueue, v.CPU, v.Blocked()}
}

type jsonFunction struct {
	Name   string     `json:"name"`
	Module string     `json:"module"`
	Self   jsonValues `json:"self"`
	Total  jsonValues `json:"total"`
	Change int        `json:"change,omitempty"`
}

type jsonGroup struct {
	Name    string     `json:"name"`
	PID     int        `json:"pid,omitempty"`
	TID     int        `json:"tid,omitempty"`
	Threads int        `json:"threads,omitempty"`
	In      string     `json:"in,omitempty"`
	Idle    string     `json:"idle,omitempty"`
	Total   jsonValues `json:"total"`
}

// jsonTable is one refresh. Fields may be added; existing ones keep their meaning.
type jsonTable struct {
	schema.Head
	Target   string   `json:"target"`
	Time     float64  `json:"time"`    // Unix epoch, seconds
	Seconds  float64  `json:"seconds"` // length of the window
	Since    float64  `json:"since"`   // time sampled so far, seconds
	Threads  int      `json:"threads"`
	Complete *float64 `json:"complete,omitempty"`
	// CompleteCPU is the share of the window's CPU time with complete stacks.
	CompleteCPU *float64       `json:"complete_cpu,omitempty"`
	Trouble     string         `json:"trouble,omitempty"`
	HeldUp      string         `json:"held_up,omitempty"`
	Goroutines  []Goroutines   `json:"goroutines_waiting,omitempty"`
	Ended       bool           `json:"ended,omitempty"`
	Waiting     int            `json:"names_to_come,omitempty"`
	Total       jsonValues     `json:"total"`
	Functions   []jsonFunction `json:"functions"`
	ByThread    []jsonGroup    `json:"by_thread"`
	ByWait      []jsonGroup    `json:"by_wait"`
}

// WriteJSON writes a line of JSON: so many functions, threads and waits each (0: all).
func WriteJSON(w io.Writer, o *Snapshot, st State, c Clock, rowsOfEach int) error {
	t := jsonTable{
		Target: st.Target, Time: float64(o.At.UnixMilli()) / 1e3, Seconds: o.Length.Seconds(), Since: o.Since.Seconds(),
		Threads: st.Threads, Trouble: st.Trouble, HeldUp: st.HeldUp, Goroutines: st.Goroutines, Ended: st.Ended,
		Waiting: o.Waiting, Total: o.Total(WholeProgram).json(),
		Functions: []jsonFunction{}, ByThread: []jsonGroup{}, ByWait: []jsonGroup{},
	}
	if st.Complete >= 0 {
		t.Complete = &st.Complete
	}
	if c, ok := o.completeCPU(WholeProgram); ok {
		share := c.Share()
		t.CompleteCPU = &share
	}
	rows := o.Functions(WholeProgram)
	SortFunctions(rows, c, BySelf)
	rows = firstRows(rows, rowsOfEach)
	changes := o.Changes(rows, false)
	for i := range rows {
		r := &rows[i]
		t.Functions = append(t.Functions, jsonFunction{r.Name, r.Module, r.Self.json(), r.Total.json(), int(changes[i])})
	}
	for _, r := range firstRows(o.Threads(WholeProgram, c), rowsOfEach) {
		th := &o.threads[r.index]
		t.ByThread = append(t.ByThread, jsonGroup{Name: th.name, PID: th.pid, TID: th.tid, In: r.MainFunction(),
			Total: r.Values.json(), Idle: r.Idle})
	}
	for _, r := range firstRows(o.Waits(WholeProgram, Wall), rowsOfEach) {
		t.ByWait = append(t.ByWait, jsonGroup{Name: r.Name(), Threads: r.Threads, In: r.MainFunction(),
			Total: r.Values.json(), Idle: r.Idle})
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = w.Write(append(printable.JSON(text), '\n'))
	return err
}
