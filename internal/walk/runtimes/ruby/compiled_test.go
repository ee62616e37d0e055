// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"testing"

	"prywalk/frames"
)

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
	r := &Runtime{module: interpreter}
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

type origin string

func (o origin) FileOffset() (string, uint64) { return string(o), 0 }

func TestOnlyCodeOfYJITsRegionBecomesRubys(t *testing.T) {
	const far = 1 << 40
	interpreter := &frames.Module{Name: "/usr/lib/libruby.so.3.3", Start: far, End: far + 1<<20, Calls: noCalls{}}
	for _, c := range []struct {
		name   string
		origin frames.Origin
		start  uint64
		want   bool
	}{
		{"near", origin(""), far + 4<<20, true},
		{"below", origin(""), far - 4<<20, true},
		{"far", origin(""), far + 1<<36, false},
		{"far below", origin(""), far - 1<<36, false},
		{"named", origin("[anon:Ruby:rb_yjit_reserve_addr_space]"), far + 4<<20, true},
		{"named, anywhere", origin("[anon:Ruby:rb_yjit_reserve_addr_space:fallback]"), far + 1<<36, true},
		{"named by 4.0", origin("[anon:Ruby:rb_jit_reserve_addr_space]"), far + 4<<20, true},
		{"Ruby's heap", origin("[anon:Ruby:heap_page_body]"), far + 4<<20, false},
		{"V8's", origin("[anon:v8]"), far + 4<<20, false},
		{"shared", origin("/memfd:jit"), far + 4<<20, false},
	} {
		m := &frames.Module{Name: "[anon]", Start: c.start, End: c.start + 1<<20, Generated: true, Origin: c.origin}
		r := &Runtime{module: interpreter}
		if !r.Attach(&mapped{mods: []*frames.Module{interpreter, m}}) {
			t.Fatal("Attach reports that Ruby is gone")
		}
		if got := m.Owner == r; got != c.want || r.yjit.has(c.start) != c.want {
			t.Errorf("%s: Ruby owns the code: %v, want %v", c.name, got, c.want)
		}
	}
}
