// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"io"
	"testing"

	rec "prywalk/internal/profile"
)

func FuzzForms(f *testing.F) {
	var plain bytes.Buffer
	if err := fixture(f).WriteUncompressed(&plain); err != nil {
		f.Fatal(err)
	}
	f.Add(plain.Bytes(), "", "thread", false)
	f.Add(plain.Bytes(), "w.*", "wait", true)
	f.Fuzz(func(t *testing.T, raw []byte, focus, by string, lines bool) {
		p, err := rec.Read(bytes.NewReader(raw))
		if err != nil {
			return
		}
		for _, form := range []form{Table, Tree, Folded, HTML, Speedscope, Firefox, OTLP} {
			_ = form(io.Discard, p, Options{Focus: focus, By: by, Lines: lines, Width: 80, N: 5})
		}
		_ = PGO(io.Discard, p, Options{})
	})
}
