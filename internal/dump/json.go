// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"prywalk/internal/printable"
)

// JSON writes a process as one line of JSON, frame by frame to bound memory.
func JSON(w io.Writer, p *Process) error {
	out := &jsonWriter{to: bufio.NewWriter(w)}
	head := *p
	head.Threads, head.GoroutineStacks = nil, nil
	after := out.before(&head, "threads")
	for i := range p.Threads {
		out.comma(i)
		out.thread(&p.Threads[i])
	}
	if len(p.GoroutineStacks) > 0 {
		after = bytes.TrimSuffix(after, []byte("}"))
	}
	out.bytes(after)
	for i := range p.GoroutineStacks {
		if i == 0 {
			out.bytes([]byte(`,"goroutines":[`))
		}
		out.comma(i)
		out.bytes(out.encode(&p.GoroutineStacks[i]))
		if i == len(p.GoroutineStacks)-1 {
			out.bytes([]byte("]}"))
		}
	}
	out.bytes([]byte("\n"))
	if out.err != nil {
		return out.err
	}
	return out.to.Flush()
}

type jsonWriter struct {
	to  *bufio.Writer
	err error
}

func (j *jsonWriter) thread(t *Thread) {
	head := *t
	head.Frames = nil
	after := j.before(&head, "frames")
	for i := 0; i < len(t.Frames) && j.err == nil; i++ {
		j.comma(i)
		j.bytes(j.encode(&t.Frames[i]))
	}
	j.bytes(after)
}

// before writes an object up to an empty list field and gives the rest.
func (j *jsonWriter) before(object any, list string) (after []byte) {
	text := j.encode(object)
	head, tail, _ := bytes.Cut(text, []byte(`"`+list+`":null`)) // quotes in strings are escaped
	j.bytes(head)
	j.bytes([]byte(`"` + list + `":[`))
	return append([]byte("]"), tail...)
}

func (j *jsonWriter) comma(i int) {
	if i > 0 {
		j.bytes([]byte(","))
	}
}

func (j *jsonWriter) encode(v any) []byte {
	text, err := json.Marshal(v)
	if j.err == nil {
		j.err = err
	}
	return printable.JSON(text)
}

func (j *jsonWriter) bytes(b []byte) {
	if j.err == nil {
		_, j.err = j.to.Write(b)
	}
}
