// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"encoding/json"
	"io"
	"reflect"

	"prywalk/internal/sample"
)

// Recorder writes JSON lines: the options, then events under their names, each followed by the kernel's answers
// ([ProcSource]) under their methods' names.
type Recorder struct {
	out    *json.Encoder
	kernel ProcSource
}

type answer struct {
	PID   int
	State ProcState
	Found bool
	NS    int64
}

// NewRecorder writes the options. It passes on kernel's answers. w keeps its first error, as a bufio.Writer does.
func NewRecorder(w io.Writer, o Options, kernel ProcSource) *Recorder {
	r := &Recorder{out: json.NewEncoder(w), kernel: kernel}
	r.write(o)
	return r
}

func (r *Recorder) write(line any) { _ = r.out.Encode(line) }

// Event records an event. Precondition: it is not handled yet.
func (r *Recorder) Event(e Event) {
	r.write(map[string]any{eventName(e): e})
}

func eventName(e Event) string { return reflect.TypeOf(e).Elem().Name() }

// State implements [ProcSource].
func (r *Recorder) State(pid int) (ProcState, bool) {
	s, ok := r.kernel.State(pid)
	r.write(map[string]any{state: answer{PID: pid, State: s, Found: ok}})
	return s, ok
}

// IgnoresChildren implements [ProcSource].
func (r *Recorder) IgnoresChildren(pid int) bool {
	yes := r.kernel.IgnoresChildren(pid)
	r.write(map[string]any{ignoresChildren: answer{PID: pid, Found: yes}})
	return yes
}

// ExactChildrenCPU implements [ProcSource].
func (r *Recorder) ExactChildrenCPU(pid int) int64 {
	ns := r.kernel.ExactChildrenCPU(pid)
	r.write(map[string]any{exactChildrenCPU: answer{PID: pid, NS: ns}})
	return ns
}

// WriteStack adds a stack's functions, innermost first, for readers.
func WriteStack(w io.Writer, id sample.StackID, functions []string) error {
	return json.NewEncoder(w).Encode(map[string]any{stack: map[string]any{"ID": id, "Functions": functions}})
}

const (
	stack            = "Stack"
	state            = "State"
	ignoresChildren  = "IgnoresChildren"
	exactChildrenCPU = "ExactChildrenCPU"
)
