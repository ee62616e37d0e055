// SPDX-License-Identifier: Apache-2.0

package threadcontext

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// image is a process whose memory and sections are the same bytes at each address.
type image struct {
	managed.ContextHost
	bytes []byte
}

func (m image) Read(addr uint64, b []byte) int {
	if len(m.bytes) == 0 {
		return 0
	}
	return copy(b, m.bytes[addr%uint64(len(m.bytes)):])
}

func (m image) Word(addr frames.Addr) (uint64, bool)          { return managed.ReadWord(m, addr) }
func (m image) Cut(frames.Addr) bool                          { return false }
func (m image) Arch() frames.Arch                             { return frames.X86_64 }
func (m image) ReadsContexts() bool                           { return true }
func (m image) NamedMapping(...string) (s, e uint64, ok bool) { return 0, 0, true }

func (m image) Modules() []*frames.Module {
	return []*frames.Module{{Name: "/lib/ld-musl-x86_64.so.1"}}
}

func (m image) OwnSymbols(*frames.Module, ...string) []managed.Symbol {
	return []managed.Symbol{{Name: variableName, Exported: true}}
}

func (m image) Section(_ *frames.Module, name string) (addr uint64, content []byte, ok bool) {
	return 0, m.bytes, len(m.bytes)%2 == 0
}

func (m image) ThreadLocalBlock(*frames.Module) (size, align uint64, ok bool) {
	return uint64(len(m.bytes)), 1 << (len(m.bytes) % 70 % 64), true
}

func FuzzContexts(f *testing.F) {
	header := make([]byte, contextHeader)
	copy(header, "OTEL_CTX")
	header[8], header[12], header[16] = contextVersion, 4, 1
	f.Add(header)
	f.Add(append([]byte{1: 0, 24: 1, 26: 8, 28: 0, 29: 1, 30: 'x'}, variableName...))
	f.Fuzz(func(_ *testing.T, b []byte) {
		m := image{bytes: b}
		parseKeys(b)
		if r, err := Detect(m); err == nil && r != nil {
			source := r.(*Runtime)
			source.host = m
			source.keys = readKeys(m)
			source.Context(1, &frames.Regs{TLS: 1 << 40}, m)
		}
		source := &Runtime{host: m}
		source.Context(1, &frames.Regs{TLS: 1 << 40}, m)
	})
}
