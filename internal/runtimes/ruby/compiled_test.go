// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"testing"

	"prywalk/frames"
)

// mapped is a process with modules.
type mapped struct {
	image
	mods []*frames.Module
}

func (m *mapped) Modules() []*frames.Module { return m.mods }

type noCalls struct{}

func (noCalls) CallBefore(frames.Addr) (frames.Call, bool) { return frames.Call{}, false }
func (noCalls) FuncStart(frames.Addr) (frames.Addr, bool)  { return 0, false }

func TestYJITCodeStaysKnownWhenAFileIsMapped(t *testing.T) {
	interpreter := &frames.Module{Name: "/usr/lib/libruby.so.3.3", Start: 1 << 20, End: 2 << 20, Calls: noCalls{}}
	compiled := &frames.Module{Name: "[anon]", Start: 4 << 20, End: 5 << 20, Generated: true}
	h := &mapped{mods: []*frames.Module{interpreter, compiled}}
	r := &Runtime{module: interpreter, name: interpreter.Name}
	for _, when := range []string{"first", "unchanged", "with a new file"} {
		if !r.Attach(h) {
			t.Fatalf("%s mappings: Attach reports that Ruby is gone", when)
		}
		if !r.yjit.has(compiled.Start) {
			t.Errorf("%s mappings: YJIT's code at %#x is not known; spans: %+v", when, compiled.Start, r.yjit.spans)
		}
		if len(compiled.Sources) != 1 || !compiled.NoFP {
			t.Errorf("%s mappings: %d sources, want 1; NoFP is %v, want true", when, len(compiled.Sources), compiled.NoFP)
		}
		if when == "unchanged" {
			h.mods = append(h.mods, &frames.Module{Name: "/usr/lib/libnss_dns.so.2", Start: 6 << 20, End: 7 << 20})
		}
	}
}
