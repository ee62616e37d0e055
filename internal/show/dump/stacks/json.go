// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bufio"
	"bytes"
	"cmp"
	"io"

	"prywalk/internal/base/printable"
)

// WriteJSON writes a process as one line of JSON.
func WriteJSON(w io.Writer, p *Process) error {
	buf := bufio.NewWriter(w)
	out := &jsonWriter{printable.NewJSONWriter(buf)}
	rest := *p
	rest.Threads, rest.GoroutineStacks = nil, nil
	before, after := out.around(&rest, "threads")
	out.Bytes(before)
	out.list("threads", len(p.Threads), func(i int) { out.thread(&p.Threads[i]) })
	if n := len(p.GoroutineStacks); n > 0 { // the last field
		out.Bytes(bytes.TrimSuffix(after, []byte("}")))
		out.Text(",")
		out.list("goroutines", n, func(i int) { out.Value(&p.GoroutineStacks[i]) })
		after = []byte("}")
	}
	out.Bytes(after)
	out.Text("\n")
	return cmp.Or(out.Err(), buf.Flush())
}

type jsonWriter struct{ *printable.JSONWriter }

func (j *jsonWriter) thread(t *Thread) {
	rest := *t
	rest.Frames = nil
	before, after := j.around(&rest, "frames")
	j.Bytes(before)
	j.list("frames", len(t.Frames), func(i int) { j.Value(&t.Frames[i]) })
	j.Bytes(after)
}

// around returns an object's text before and after a field with a nil list.
func (j *jsonWriter) around(object any, list string) (before, after []byte) {
	before, after, _ = bytes.Cut(j.Encode(object), []byte(`"`+list+`":null`)) // quotes in strings are escaped
	return before, after
}

func (j *jsonWriter) list(name string, n int, write func(i int)) {
	j.Text(`"` + name + `":[`)
	for i := 0; i < n && j.Err() == nil; i++ {
		j.Comma(i)
		write(i)
	}
	j.Text("]")
}
