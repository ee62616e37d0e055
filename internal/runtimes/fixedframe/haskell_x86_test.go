// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"slices"
	"testing"

	"prywalk/frames"
)

func haskellCode() []byte {
	room := []byte{0, 1, 0, 0}
	return slices.Concat(haskellPrologue, room, haskellSaveRegs,
		[]byte{0x49, 0x89, 0xf5, 0x48, 0x89, 0xf8, 0xff, 0xe0}, // mov r13, rsi; mov rax, rdi; jmp rax
		[]byte{0x48, 0x89, 0xd8}, haskellFreeRoom, room, []byte{0x48, 0x8b, 0x1c, 0x24}, haskellEpilogue)
}

func newHaskellProcess() (*fake, *host, *haskell) {
	f := newFake()
	f.code(entry, haskellCode()...)
	o := f.process(calls{entryRet: entry, luaRet: 0})
	return f, o, newHaskell(&process{Host: o, lib: o.mods[0]}, entry)
}

func TestHaskellReturnsToTheCallOfItsEntry(t *testing.T) {
	_, o, h := newHaskellProcess()
	if h == nil || h.size != 0x130 || h.end != entry+uint64(len(haskellCode())) {
		t.Fatalf("%+v", h)
	}
	src := h.inFile(o.mods[0], nil)
	for what, c := range map[string]struct {
		pushed int
		more   map[int]uint64
		ok     bool
	}{
		"code":                   {0, nil, true},
		"a call of C":            {3, nil, true},
		"what is left in it":     {0, map[int]uint64{0: entryRet, 5: luaRet}, true},
		"two such words":         {0, map[int]uint64{0x130/8 + 4: entryRet}, false},
		"another call's address": {0, map[int]uint64{0x130 / 8: luaRet}, false},
		"too many words pushed":  {maxPushedWords, nil, false},
	} {
		s := make(stack, 200)
		ret := c.pushed + 0x130/8
		s[ret] = entryRet
		for i, v := range c.more {
			s[i] = v
		}
		cfa, row, ok := prove(src, at(0, nil), s, libAt+0x2000)
		if ok != c.ok || ok && cfa != stackAt+8*uint64(ret+1) {
			t.Errorf("%s: the CFA is %#x, %v", what, cfa, ok)
		}
		if p := row.Regs[frames.X86RBX]; p.Kind != frames.RuleOffset || p.Off != -56 {
			t.Errorf("rbx is at %+v", p)
		}
	}
}

func TestHaskellsEntryIsKnownInstructionByInstruction(t *testing.T) {
	_, o, h := newHaskellProcess()
	cfi := fixed{Method: frames.MethodCFI, CFAReg: frames.X86RSP, CFAOff: 8}
	src := h.inFile(o.mods[0], []frames.RuleSource{cfi})
	saved := [frames.NumCompact]uint8{6, 7, 5, 4, 3, 2}
	for pc, want := range map[uint64]frames.Rule{
		entry:                  {CFAOff: 8},
		entry + afterFirstSub:  {CFAOff: 0x38},
		entry + afterSecondSub: {CFAOff: 0x138},
		entry + afterSaves:     {CFAOff: 0x138, Saved: saved},
		h.left - 1:             {CFAOff: 0x138, Saved: saved},
		h.left:                 {CFAOff: 0x38, Saved: saved},
		h.end - 1:              {CFAOff: 8},
		h.end:                  {CFAOff: 8, Method: frames.MethodCFI},
	} {
		want.CFAReg = frames.X86RSP
		if want.Method == 0 {
			want.Method = frames.MethodHeuristic
		}
		if r, _, ok := src.Rule(frames.Query{PC: pc}); !ok || r != want {
			t.Errorf("at %#x: %+v, %v, want %+v", pc-entry, r, ok, want)
		}
	}
}

func TestCallFrameInformationPrecedesHaskellsRules(t *testing.T) {
	_, o, h := newHaskellProcess()
	for _, c := range []struct {
		of  frames.Rule
		own bool
	}{{frames.Rule{Method: frames.MethodCFI, CFAOff: 24}, false}, {frames.Rule{Method: frames.MethodHeuristic}, true},
		{frames.Rule{Method: frames.MethodHeuristic, Flags: frames.FlagRoot}, false}} {
		r, row, ok := h.inFile(o.mods[0], []frames.RuleSource{fixed(c.of)}).Rule(frames.Query{PC: libAt})
		if !ok || (row != nil) != c.own || !c.own && r != c.of {
			t.Errorf("%+v became %+v, %v", c.of, r, ok)
		}
	}
}

func TestCodeUnlikeHaskellsEntryIsRejected(t *testing.T) {
	whole := haskellCode()
	for what, spoil := range map[string]func(b []byte){
		"no room":         func(b []byte) { b[2] = 0 },
		"another size":    func(b []byte) { b[10]++ },
		"a large one":     func(b []byte) { b[13] = 0x7f },
		"other registers": func(b []byte) { b[20]++ },
		"no return":       func(b []byte) { b[len(b)-1] = 0 },
		"another return":  func(b []byte) { b[len(b)-2] = 7 },
	} {
		f, o, _ := newHaskellProcess()
		b := slices.Clone(whole)
		spoil(b)
		f.code(entry, b...)
		if h := newHaskell(&process{Host: o, lib: o.mods[0]}, entry); h != nil {
			t.Errorf("%s: %+v", what, h)
		}
	}
	for n := range whole {
		if (&haskell{}).readEntry(whole[:n]) {
			t.Errorf("%d bytes of %d are taken for the entry", n, len(whole))
		}
	}
}
