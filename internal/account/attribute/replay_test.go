// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

var errFormat = errors.New("not a recorded stream of events")

// Answers are kept by process, as their order varies.
func replay(stream io.Reader, sink Sink) (Totals, error) {
	return replayEach(stream, sink, func(*Attribution, Event) {})
}

func replayEach(stream io.Reader, sink Sink, before func(*Attribution, Event)) (Totals, error) {
	in := strictDecoder(stream)
	var o Scope
	if err := in.Decode(&o); err != nil {
		return Totals{}, fmt.Errorf("%w: options: %w", errFormat, err)
	}
	answered := answers{}
	a := New(o, answered, sink)
	at := int64(0)
	var waiting Event
	handle := func(next Event) {
		if waiting != nil {
			before(a, waiting)
			a.Apply(waiting)
		}
		waiting = next
	}
	for n := 2; ; n++ {
		var line map[string]json.RawMessage
		if err := in.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return a.Totals(), fmt.Errorf("%w: line %d: %w", errFormat, n, err)
		}
		for name, value := range line {
			e, err := event(name, value, answered)
			if err != nil {
				return a.Totals(), fmt.Errorf("%w: line %d: %w", errFormat, n, err)
			}
			if e == nil {
				continue
			}
			if t, ok := e.(*Tick); ok {
				at = t.At
			}
			handle(e)
		}
	}
	handle(nil)
	a.Close(at)
	return a.Totals(), nil
}

// strictDecoder refuses unknown fields: a renamed one would be 0.
func strictDecoder(r io.Reader) *json.Decoder {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	return d
}

// event returns nil for an answer, which it adds to answered, and for a stack.
func event(name string, value json.RawMessage, answered answers) (Event, error) {
	switch name {
	case stack:
		return nil, nil
	case state, ignoresChildren, exactChildrenCPU:
		var a answer
		if err := strictDecoder(bytes.NewReader(value)).Decode(&a); err != nil {
			return nil, err
		}
		answered[key{name, a.PID}] = append(answered[key{name, a.PID}], a)
		return nil, nil
	}
	for _, e := range []Event{
		&ProcessStarted{}, &Sampled{}, &ThreadStarted{}, &FoundUnchanged{},
		&ThreadEnded{}, &Execed{}, &ProcessEnded{}, &EndedSoFar{}, &UnassignedSample{},
		&NotObservedFor{}, &Cut{}, &Tick{},
	} {
		if eventName(e) == name {
			return e, strictDecoder(bytes.NewReader(value)).Decode(e)
		}
	}
	return nil, fmt.Errorf("%q is not an event", name)
}

type answers map[key][]answer

type key struct {
	of  string
	pid int
}

// take repeats the last answer.
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

func (t answers) State(pid int) (ProcState, bool) {
	a := t.take(state, pid)
	return a.State, a.Found
}

func (t answers) IgnoresChildren(pid int) bool { return t.take(ignoresChildren, pid).Found }

func (t answers) ExactChildrenCPU(pid int) int64 { return t.take(exactChildrenCPU, pid).NS }
