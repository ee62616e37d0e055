// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"fmt"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/stacks"
)

func writeStack(b *strings.Builder, t *stacks.Thread, native bool) {
	n := 0
	hidden, some := repeated(t.Frames, 0)
	for i := range t.Frames {
		f := &t.Frames[i]
		if some && i == hidden.to {
			hidden, some = repeated(t.Frames, i)
		}
		if some && i == hidden.from {
			hidden.write(b, t.Frames)
		}
		if f.Method == "" && f.Kind == "" || f.Machinery && !native {
			continue
		}
		if !some || i < hidden.from {
			writeFrame(b, n, f)
		}
		if !f.Inlined {
			n++
		}
	}
	if !t.Complete {
		printable.Fprintf(b, "      [incomplete: %s]\n", t.StopReason)
	}
}

func writeFrame(b *strings.Builder, n int, f *stacks.Frame) {
	name, module := cmp.Or(languages.ShownName(f.Function), "??"), withSeparator(" in ", f.Module)
	if f.Inlined {
		printable.Fprintf(b, "      %18s %s%s (inlined)\n", "", name, f.AtLine())
		return
	}
	address, how := fmt.Sprintf("0x%016x", uint64(f.PC)), f.Method
	if f.Kind != "" {
		how = f.Kind + withSeparator(" ", f.Type)
		if f.PC == 0 {
			address = ""
		}
	}
	printable.Fprintf(b, "  #%-2d %18s %s%s%s [%s]\n", n, address, name, f.AtLine(), module, how)
}
