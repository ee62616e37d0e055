// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"prywalk/internal/walk/managed"
)

// The globals are a variable, or behind a thread-local word of which a function and an offset tell the place.
func TestGlobalsAreAVariableOrThreadLocal(t *testing.T) {
	const at = 1 << 32
	symbol := func(name string, offset, size uint64) map[string]managed.Symbol {
		return map[string]managed.Symbol{name: {Name: name, Addr: at + offset, Size: size}}
	}
	both := func(cacheAt uint64) map[string]managed.Symbol {
		all := symbol(symOffset, 0, 8)
		all[symCache] = symbol(symCache, cacheAt, 8)[symCache]
		return all
	}
	code := []byte{0x48, 0xc7, 0xc0, 0xe8, 0xff, 0xff, 0xff, 0xc3} // mov rax, -24; ret
	for _, c := range []struct {
		what    string
		symbols map[string]managed.Symbol
		offset  uint64
		code    []byte
		globals uint64
		tls     int64
		err     string // "not yet": [managed.ErrNotYet]
	}{
		{"a variable", symbol(symGlobals, 8, 0), 0, nil, at + 8, 0, ""},
		{"a variable of its size", symbol(symGlobals, 8, 1000), 0, nil, at + 8, 0, ""},
		{"one that is too small", symbol(symGlobals, 8, 100), 0, nil, at + 8, 0, "its globals have 100 bytes"},
		{"no symbols", nil, 0, nil, 0, 0, "it has no symbol executor_globals"},
		{"only an offset", symbol(symOffset, 0, 8), 64, nil, 0, 0, "it has no symbol executor_globals"},
		{"only a function", symbol(symCache, 64, 8), 64, code, 0, 0, "it has no symbol executor_globals"},
		{"thread-local ones", both(64), 256, code, 0, -24, ""},
		{"before their start", both(64), 0, code, 0, 0, "not yet"},
		{"with a wrong offset", both(64), 1<<20 + 1, code, 0, 0, "its globals of threads are not those of PHP"},
		{"by unknown code", both(64), 256, []byte{0x31, 0xc0, 0xc3}, 0, 0, "how its threads find their globals is not known"},
		{"by code that is not read", both(1 << 16), 256, code, 0, 0, "not yet"},
	} {
		m := &image{at: at, bytes: make([]byte, 4096)}
		binary.LittleEndian.PutUint64(m.bytes, c.offset)
		copy(m.bytes[64:], c.code)
		r := &Runtime{host: m}
		r.layout.current = 400
		err := r.findGlobals(c.symbols)
		text := ""
		switch {
		case errors.Is(err, managed.ErrNotYet):
			text = "not yet"
		case err != nil:
			text = err.Error()
		}
		threads := c.tls != 0
		if (text == "") != (c.err == "") || !strings.HasPrefix(text, c.err) || r.globals != c.globals || r.tls != c.tls ||
			r.threadSafe != threads || threads && r.executorOffset != c.offset {
			t.Errorf("%s: globals at %#x, thread-local %d, of threads %t, %v; want %#x, %d, %t, %q", c.what, r.globals, r.tls,
				r.threadSafe, err, c.globals, c.tls, threads, c.err)
		}
	}
}
