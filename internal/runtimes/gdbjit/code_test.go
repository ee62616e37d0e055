// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/filememory"
)

// cfa returns the CFA's distance from rsp; 0: no rule.
func cfa(c *Code, pc uint64) int {
	r, _, ok := c.Rule(frames.Query{PC: pc})
	if !ok || r.CFAReg != frames.X86RSP || r.Method != frames.MethodCFI {
		return 0
	}
	return int(r.CFAOff)
}

func name(c *Code, pc uint64) string {
	s, _ := c.Name(pc)
	return s
}

func TestImageOfABuffer(t *testing.T) {
	f := newFake()
	f.register(node(0), imageAt, absolute("code_gen_buffer", codeAt, 0x1000, 48))
	c := f.code()
	if got := cfa(c, codeAt+0x800); got != 48 {
		t.Errorf("the CFA is rsp+%d, want 48", got)
	}
	if got := name(c, codeAt); got != "code_gen_buffer" {
		t.Errorf("named %q", got)
	}
	if got := cfa(c, codeAt+0x1000); got != 0 {
		t.Errorf("behind the code there is a rule: rsp+%d", got)
	}
	// The address after the last instruction, as a return address.
	if r, _, ok := c.Rule(frames.Query{PC: codeAt + 0x1000, AfterCall: true}); !ok || r.CFAOff != 48 {
		t.Errorf("of a return address: %+v, %v", r, ok)
	}
}

func TestRelocatableImageIsReadWhereItWasLoaded(t *testing.T) {
	f := newFake()
	f.register(node(0), imageAt, f.relocatable("evalexpr_0_1", codeAt, 0x100, 32))
	c := f.code()
	if got := cfa(c, codeAt+0x10); got != 32 {
		t.Errorf("the CFA is rsp+%d, want 32", got)
	}
	if got := name(c, codeAt+0x2f); got != "evalexpr_0_1" {
		t.Errorf("named %q", got)
	}
	if got := name(c, codeAt+0x30); got != "" {
		t.Errorf("behind the function: %q", got)
	}
}

func TestMemoryOfImagesIsGivenBack(t *testing.T) {
	f := newFake()
	before := filememory.Process().Used()
	c := f.code()
	for i, image := range [][]byte{
		absolute("buffer", codeAt, 0x1000, 48), f.relocatable("evalexpr_0_1", codeAt, 0x100, 32),
		elfImage(2, nil), []byte("\x7fELF"),
	} {
		f.register(node(i), imageAt+uint64(i)*0x1000, image)
		c.Refresh()
	}
	if cfa(c, codeAt) != 32 {
		t.Error("the last image with code is not used")
	}
	if left := filememory.Process().Used() - before; left != 0 {
		t.Errorf("%d bytes of the budget of files are counted, beside the size of copies", left)
	}
}

func TestListIsFollowedWhileItChanges(t *testing.T) {
	f := newFake()
	c := f.code()
	if c.Refresh() {
		t.Error("an empty list has changed")
	}
	f.register(node(0), imageAt, absolute("first", codeAt, 0x100, 16))
	if !c.Refresh() || cfa(c, codeAt) != 16 {
		t.Error("the first image is not seen")
	}
	f.register(node(1), imageAt+0x1000, absolute("second", codeAt+0x100, 0x100, 32))
	if !c.Refresh() || cfa(c, codeAt) != 16 || cfa(c, codeAt+0x100) != 32 {
		t.Error("the second image is not seen")
	}
	f.unregister(node(0))
	if !c.Refresh() || cfa(c, codeAt) != 0 || cfa(c, codeAt+0x100) != 32 {
		t.Error("the first image is still believed")
	}
	if got := name(c, codeAt); got != "first" {
		t.Errorf("code that is gone is named %q", got)
	}
	if c.Refresh() {
		t.Error("changed though nothing has")
	}
	// Entry and image are reused for other code of the same size; the list's head is unchanged.
	f.unregister(node(1))
	f.register(node(1), imageAt+0x1000, absolute("third!", codeAt+0x100, 0x100, 64))
	for range unchangedRereadEvery {
		c.Refresh()
	}
	if cfa(c, codeAt+0x100) != 64 || name(c, codeAt+0x100) != "third!" {
		t.Errorf("an image at the same place is taken for the old one: %s", name(c, codeAt+0x100))
	}
}

func TestUnchangedListTakesTwoReads(t *testing.T) {
	f := newFake()
	for i := range 50 {
		f.register(node(i), imageAt+uint64(i)*0x400, absolute("f", codeAt+uint64(i)*0x100, 0x100, 16))
	}
	c := f.code()
	f.reads = 0
	if c.Refresh() || f.reads != 2 {
		t.Errorf("%d reads, want 2", f.reads)
	}
}

func TestNewerImageHoldsWhereTwoOverlap(t *testing.T) {
	f := newFake()
	f.register(node(0), imageAt, absolute("old", codeAt, 0x1000, 16))
	f.register(node(1), imageAt+0x1000, absolute("new", codeAt+0x100, 0x100, 32))
	c := f.code()
	if got := cfa(c, codeAt+0x100); got != 32 {
		t.Errorf("the CFA is rsp+%d, want the newer image's 32", got)
	}
	if got := cfa(c, codeAt+0x800); got != 0 {
		t.Errorf("an image whose memory was used again is still believed: rsp+%d", got)
	}
}

func TestImageRemovedWhileReadIsRejected(t *testing.T) {
	f := newFake()
	c := f.code()
	f.register(node(0), imageAt, absolute("first", codeAt, 0x100, 16))
	f.during = func(addr uint64) {
		if addr == imageAt {
			f.during = nil
			f.unregister(node(0))
		}
	}
	c.Refresh()
	if got := cfa(c, codeAt); got != 0 {
		t.Errorf("it is believed: rsp+%d", got)
	}
	f.register(node(0), imageAt, absolute("first", codeAt, 0x100, 16))
	if c.Refresh(); cfa(c, codeAt) != 16 {
		t.Error("it is not believed when it is there again")
	}
}

func TestHostileLists(t *testing.T) {
	image := absolute("f", codeAt, 0x100, 16)
	for what, spoil := range map[string]func(f *fake){
		"a circle":         func(f *fake) { f.put(node(0), node(1)) },
		"itself":           func(f *fake) { f.put(node(0), node(0)) },
		"next is nowhere":  func(f *fake) { f.put(node(0), ^uint64(7)) },
		"a size too large": func(f *fake) { f.put(node(1)+24, 1<<60) },
		"a size to wrap":   func(f *fake) { f.put(node(1)+16, ^uint64(0)) },
		"another version":  func(f *fake) { f.mem[listAt] = 2 },
		"no descriptor":    func(f *fake) { f.mem = f.mem[:listAt+8] },
	} {
		f := newFake()
		f.register(node(0), imageAt, image)
		f.register(node(1), imageAt+0x1000, image)
		spoil(f)
		c := f.code()
		c.Refresh()
		if n := len(c.images); n > 2 {
			t.Errorf("%s: %d images", what, n)
		}
	}
}

type readingHost struct {
	listHost
	read func(addr uint64, b []byte) int
}

func (h readingHost) Read(addr uint64, b []byte) int { return h.read(addr, b) }

func TestManyImagesAreBounded(t *testing.T) {
	f := newFake()
	// Each claims the largest size.
	read := 0
	c := New(readingHost{read: func(addr uint64, b []byte) int {
		if len(b) > hashedBytes {
			read += len(b)
			return 0
		}
		return f.read(addr, b)
	}})
	for i := range 100 {
		f.register(node(i), imageAt+uint64(i), nil)
		f.put(node(i)+24, maxImage)
	}
	c.follow([]uint64{listAt})
	c.Refresh()
	if read > maxCopied {
		t.Errorf("%d bytes were copied at a time, want %d at most", read, maxCopied)
	}
	before := len(c.images)
	c.Refresh()
	if len(c.images) <= before {
		t.Error("the others do not follow")
	}
}

func TestCodeOfUnloadedLibrariesIsDropped(t *testing.T) {
	f := newFake()
	f.register(node(0), imageAt, absolute("f", codeAt, 0x100, 16))
	c := f.code()
	if c.follow(nil); cfa(c, codeAt) != 0 {
		t.Error("the code of a library that was unloaded is still believed")
	}
}
