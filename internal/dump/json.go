// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"prywalk/internal/printable"
)

// JSON writes a process as a line of JSON. It encodes one frame at a time, to bound memory.
func JSON(w io.Writer, p *Process) error {
	out := &jsonWriter{to: bufio.NewWriter(w)}
	rest := *p
	rest.Threads, rest.GoroutineStacks = nil, nil
	before, after := out.around(&rest, "threads")
	out.bytes(before)
	out.list("threads", len(p.Threads), func(i int) { out.thread(&p.Threads[i]) })
	if n := len(p.GoroutineStacks); n > 0 { // the last field
		out.bytes(bytes.TrimSuffix(after, []byte("}")))
		out.text(",")
		out.list("goroutines", n, func(i int) { out.value(&p.GoroutineStacks[i]) })
		after = []byte("}")
	}
	out.bytes(after)
	out.text("\n")
	if out.err != nil {
		return out.err
	}
	return out.to.Flush()
}

// jsonWriter writes objects with long lists. After an error it writes nothing.
type jsonWriter struct {
	to  *bufio.Writer
	err error
}

func (j *jsonWriter) thread(t *Thread) {
	rest := *t
	rest.Frames = nil
	before, after := j.around(&rest, "frames")
	j.bytes(before)
	j.list("frames", len(t.Frames), func(i int) { j.value(&t.Frames[i]) })
	j.bytes(after)
}

// around gives an object's text before and after the field of a list, which is nil.
func (j *jsonWriter) around(object any, list string) (before, after []byte) {
	before, after, _ = bytes.Cut(j.encode(object), []byte(`"`+list+`":null`)) // quotes in strings are escaped
	return before, after
}

// list writes a field with n elements.
func (j *jsonWriter) list(name string, n int, write func(i int)) {
	j.text(`"` + name + `":[`)
	for i := 0; i < n && j.err == nil; i++ {
		if i > 0 {
			j.text(",")
		}
		write(i)
	}
	j.text("]")
}

func (j *jsonWriter) value(v any) { j.bytes(j.encode(v)) }

func (j *jsonWriter) encode(v any) []byte {
	text, err := json.Marshal(v)
	if j.err == nil {
		j.err = err
	}
	return printable.JSON(text)
}

func (j *jsonWriter) text(s string) { j.bytes([]byte(s)) }

func (j *jsonWriter) bytes(b []byte) {
	if j.err == nil {
		_, j.err = j.to.Write(b)
	}
}
