// SPDX-License-Identifier: Apache-2.0

// Package replay records the input of an attribution and feeds it to another one. So time that was attributed wrongly
// on any machine becomes a file, and the file a test case: no process is needed.
//
// # Format
//
// JSON, one object a line. The first has the options. Each other one has a single member: the name of a type of package
// attribute that is an event, or "relative", "ignores" and "children" for an answer of the kernel
// (attribute.Relatives), which follows the event that was handled when it was given. Stacks are numbers: neither names
// nor memory are recorded.
package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"prywalk/internal/attribute"
)

// Recorder writes the events that an attribution handles, and the answers that the kernel gives to it.
type Recorder struct {
	out    *json.Encoder
	kernel attribute.Relatives
	err    error
}

// answer is what the kernel said of a process.
type answer struct {
	PID      int
	Relative attribute.Relative
	Found    bool
	NS       int64
}

// NewRecorder begins a stream with the options of the attribution. Its answers as [attribute.Relatives] are kernel's.
func NewRecorder(w io.Writer, o attribute.Options, kernel attribute.Relatives) *Recorder {
	r := &Recorder{out: json.NewEncoder(w), kernel: kernel}
	r.write(o)
	return r
}

// Err gives the first error of writing; nothing was written after it.
func (r *Recorder) Err() error { return r.err }

func (r *Recorder) write(line any) {
	if r.err == nil {
		r.err = r.out.Encode(line)
	}
}

// Event records an event that is about to be handled.
func (r *Recorder) Event(e attribute.Event) {
	r.write(map[string]any{reflect.TypeOf(e).Elem().Name(): e})
}

// Relative implements [attribute.Relatives].
func (r *Recorder) Relative(pid int) (attribute.Relative, bool) {
	rel, ok := r.kernel.Relative(pid)
	r.write(map[string]any{relative: answer{PID: pid, Relative: rel, Found: ok}})
	return rel, ok
}

// IgnoresChildren implements [attribute.Relatives].
func (r *Recorder) IgnoresChildren(pid int) bool {
	yes := r.kernel.IgnoresChildren(pid)
	r.write(map[string]any{ignores: answer{PID: pid, Found: yes}})
	return yes
}

// ExactChildrenCPU implements [attribute.Relatives].
func (r *Recorder) ExactChildrenCPU(pid int) int64 {
	ns := r.kernel.ExactChildrenCPU(pid)
	r.write(map[string]any{children: answer{PID: pid, NS: ns}})
	return ns
}

// The names of answers.
const (
	relative = "relative"
	ignores  = "ignores"
	children = "children"
)

// ErrFormat is of a stream that no recorder has written.
var ErrFormat = errors.New("not a recorded stream of events")

// Run handles a recorded stream, and gives the sums. The sink takes the intervals. An attribution asks for the children
// of many processes in no particular order, so answers are kept by process until they are asked for.
func Run(stream io.Reader, sink attribute.Sink) (attribute.Totals, error) {
	in := json.NewDecoder(stream)
	var o attribute.Options
	if err := in.Decode(&o); err != nil {
		return attribute.Totals{}, fmt.Errorf("%w: options: %w", ErrFormat, err)
	}
	told := answers{}
	a := attribute.New(o, told, sink)
	at := int64(0)
	// An answer was given while the event before it was handled, so each event waits for what follows it.
	var waiting attribute.Event
	handle := func(next attribute.Event) {
		if waiting != nil {
			a.Handle(waiting)
		}
		waiting = next
	}
	for n := 2; ; n++ {
		var line map[string]json.RawMessage
		if err := in.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return a.Totals(), fmt.Errorf("%w: line %d: %w", ErrFormat, n, err)
		}
		for name, value := range line {
			e, err := event(name, value, told)
			if err != nil {
				return a.Totals(), fmt.Errorf("%w: line %d: %w", ErrFormat, n, err)
			}
			if e == nil {
				continue
			}
			if t, ok := e.(*attribute.Tick); ok {
				at = t.At
			}
			handle(e)
		}
	}
	handle(nil)
	a.Close(at)
	return a.Totals(), nil
}

// event reads an event; nil for an answer of the kernel, which is kept.
func event(name string, value json.RawMessage, told answers) (attribute.Event, error) {
	switch name {
	case relative, ignores, children:
		var a answer
		if err := json.Unmarshal(value, &a); err != nil {
			return nil, err
		}
		told[key{name, a.PID}] = append(told[key{name, a.PID}], a)
		return nil, nil
	}
	for _, e := range []attribute.Event{
		&attribute.ProcessStarted{}, &attribute.Observed{}, &attribute.FoundRunning{}, &attribute.FoundUnchanged{},
		&attribute.TaskEnded{}, &attribute.ProcessEnded{}, &attribute.EndedSoFar{}, &attribute.Claimed{},
		&attribute.ChildCounted{}, &attribute.NotObservedFor{}, &attribute.Cut{}, &attribute.Tick{},
	} {
		if reflect.TypeOf(e).Elem().Name() == name {
			return e, json.Unmarshal(value, e)
		}
	}
	return nil, fmt.Errorf("%q is no event", name)
}

// answers are those of the kernel that were not asked for yet.
type answers map[key][]answer

type key struct {
	of  string
	pid int
}

// take gives the next answer. The last one is given again.
func (t answers) take(of string, pid int) answer {
	k := key{of, pid}
	list := t[k]
	if len(list) == 0 {
		return answer{}
	}
	if len(list) > 1 {
		t[k] = list[1:]
	}
	return list[0]
}

// Relative implements [attribute.Relatives].
func (t answers) Relative(pid int) (attribute.Relative, bool) {
	a := t.take(relative, pid)
	return a.Relative, a.Found
}

// IgnoresChildren implements [attribute.Relatives].
func (t answers) IgnoresChildren(pid int) bool { return t.take(ignores, pid).Found }

// ExactChildrenCPU implements [attribute.Relatives].
func (t answers) ExactChildrenCPU(pid int) int64 { return t.take(children, pid).NS }
