// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"prywalk/internal/printable"
)

// JSON writes a process as one line of JSON, thread by thread and frame by frame: the text of a million frames is far
// larger than they are in memory.
func JSON(w io.Writer, p *Process) error {
	out := &jsonWriter{to: bufio.NewWriter(w)}
	head := *p
	head.Threads = nil
	after := out.before(&head, "threads")
	for i := range p.Threads {
		out.comma(i)
		out.thread(&p.Threads[i])
	}
	out.bytes(after)
	out.bytes([]byte("\n"))
	if out.err != nil {
		return out.err
	}
	return out.to.Flush()
}

// jsonWriter writes JSON in parts.
type jsonWriter struct {
	to  *bufio.Writer
	err error
}

// thread writes a thread.
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

// before writes an object up to the entries of a field, a list that it does not have, and gives what follows them.
func (j *jsonWriter) before(object any, list string) (after []byte) {
	text := j.encode(object)
	head, tail, _ := bytes.Cut(text, []byte(`"`+list+`":null`)) // no string has quotes that are not escaped
	j.bytes(head)
	j.bytes([]byte(`"` + list + `":[`))
	return append([]byte("]"), tail...)
}

// comma writes what stands before the entry i of a list.
func (j *jsonWriter) comma(i int) {
	if i > 0 {
		j.bytes([]byte(","))
	}
}

// encode gives a value's text.
func (j *jsonWriter) encode(v any) []byte {
	text, err := json.Marshal(v)
	if j.err == nil {
		j.err = err
	}
	return printable.JSON(text)
}

// bytes writes what is JSON already.
func (j *jsonWriter) bytes(b []byte) {
	if j.err == nil {
		_, j.err = j.to.Write(b)
	}
}
