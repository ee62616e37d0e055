// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

type starting struct {
	image
	module uint64
}

func (s *starting) Read(addr uint64, b []byte) int {
	clear(b)
	if addr == s.at+16 && len(b) == 8 {
		binary.LittleEndian.PutUint64(b, s.module)
	}
	return len(b)
}

func TestWorkersAreKnownBeforeTheirFirstRequest(t *testing.T) {
	s := &starting{image: image{at: 1 << 32, text: []byte("X-Powered-By: PHP/8.2.1\x00"), bytes: make([]byte, 3)}}
	if r, err := Detect(s); r != nil || !errors.Is(err, managed.ErrNotYet) {
		t.Errorf("before it begins: %v, %v", r, err)
	}
	s.module = 1 << 33
	if r, err := Detect(s); r == nil || err != nil {
		t.Errorf("before its first request: %v, %v", r, err)
	}
}

func TestUnknownReleaseIsNamedBesideTheKnown(t *testing.T) {
	for version, known := range map[string]bool{
		"7.3.33": false, "7.4.0": true, "8.1.9": true, "8.5.1": true, "8.6.0": false,
	} {
		_, err := Detect(&image{at: 1 << 32, text: []byte("X-Powered-By: PHP/" + version + "\x00"), bytes: make([]byte, 3)})
		unknown := err != nil && strings.HasSuffix(err.Error(), "its version is "+version+"; 7.4 to 8.5 are known")
		if unknown == known {
			t.Errorf("PHP %s: error %v", version, err)
		}
	}
	doc, err := os.ReadFile("doc.go")
	known := fmt.Sprintf("PHP %v to %v", layouts[0].release, newestRelease)
	if err != nil || !strings.Contains(string(doc), known) {
		t.Errorf("doc.go does not name %s (%v)", known, err)
	}
}

type mapped struct {
	image
	mods []*frames.Module
}

func (m *mapped) Modules() []*frames.Module { return m.mods }

type place string

func (p place) FileOffset() (string, uint64) { return string(p), 0 }

// Private memory has code of regular expressions.
func TestTheCompilersCodeStaysKnownWhenCodeIsAdded(t *testing.T) {
	loop := &frames.Module{Name: "/usr/bin/php8.2", Start: 1 << 20, End: 2 << 20}
	made := &frames.Module{Name: "[anon]", Start: 4 << 20, End: 5 << 20, Generated: true, Origin: place("/dev/zero")}
	private := &frames.Module{Name: "[anon]", Start: 6 << 20, End: 7 << 20, Generated: true, Origin: place("")}
	h := &mapped{mods: []*frames.Module{loop, made}}
	r := &Runtime{module: loop, host: h}
	r.jit.known = true
	for range 2 {
		if !r.Attach(h) || !r.jit.has(made.Start) || r.jit.has(private.Start) || len(made.Sources) != 1 || private.NoFP {
			t.Errorf("%+v, %d sources", r.jit.spans, len(made.Sources))
		}
		h.mods = append(h.mods, private)
	}
}

// embedding is a program with PHP's thread-safe library, copies of its data, and the version text.
type embedding struct {
	words  map[uint64]uint64
	copies []managed.Symbol
	alone  bool // without the library
}

func (e *embedding) Read(addr uint64, b []byte) int {
	var all []byte
	for at := addr; len(all) < len(b); at += 8 {
		all = binary.LittleEndian.AppendUint64(all, e.words[at])
	}
	return copy(b, all)
}

func (e *embedding) Arch() frames.Arch                                    { return frames.X86_64 }
func (e *embedding) ReadCode(addr uint64, b []byte) int                   { return e.Read(addr, b) }
func (e *embedding) CodeAnalysis() *heuristics.Source                     { return nil }
func (e *embedding) Symbol(*frames.Module, string) (uint64, uint64, bool) { return 0, 0, false }

func (e *embedding) Section(m *frames.Module, _ string) (uint64, []byte, bool) {
	return 0, []byte("X-Powered-By: PHP/8.2.1\x00"), m.Name != "/usr/lib/other.so"
}

func (e *embedding) Modules() []*frames.Module {
	all := []*frames.Module{{Name: "/srv/frankenphp"}, {Name: "/usr/lib/other.so"}, {Name: "/usr/lib/libphp.so"}}
	if e.alone {
		return all[:1]
	}
	return all
}

func (e *embedding) OwnSymbols(m *frames.Module, names ...string) (list []managed.Symbol) {
	all := e.copies
	if m.Name == "/usr/lib/libphp.so" {
		all = []managed.Symbol{
			{Name: symExecute, Addr: 0x1000, Size: 0x100, Function: true, Exported: true},
			{Name: symCache, Addr: 0x2000, Size: 8, Function: true, Exported: true},
			{Name: symOffset, Addr: 0x3000, Size: 8, Exported: true}, {Name: symModule, Addr: 0x3008, Size: 8, Exported: true},
		}
	}
	for _, s := range all {
		if slices.Contains(names, s.Name) {
			list = append(list, s)
		}
	}
	return list
}

func TestDataOfALibraryIsReadWhereTheProgramHasACopy(t *testing.T) {
	offset := managed.Symbol{Name: symOffset, Addr: 0x5000, Size: 8, Exported: true}
	module := managed.Symbol{Name: symModule, Addr: 0x5008, Size: 8, Exported: true}
	changed := func(s managed.Symbol, change func(*managed.Symbol)) managed.Symbol { change(&s); return s }
	const inLibrary, inCopy = 0x100, 0x200
	for _, c := range []struct {
		name   string
		copies []managed.Symbol
		want   uint64
	}{
		{"none", nil, inLibrary},
		{"both", []managed.Symbol{offset, module}, inCopy},
		{"one", []managed.Symbol{offset}, inCopy},
		{"of another size", []managed.Symbol{changed(offset, func(s *managed.Symbol) { s.Size = 4 })}, inLibrary},
		{"not exported", []managed.Symbol{changed(offset, func(s *managed.Symbol) { s.Exported = false })}, inLibrary},
		{"a function", []managed.Symbol{changed(offset, func(s *managed.Symbol) { s.Function = true })}, inLibrary},
	} {
		e := &embedding{copies: c.copies, words: map[uint64]uint64{
			0x2000: 0xc3fffffff8c0c748,
			0x3000: inLibrary, 0x3008: 0x9000, 0x5000: inCopy, 0x5008: 0x9000,
		}}
		if r, err := Detect(e); err != nil || r == nil || r.(*Runtime).executorOffset != c.want {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		if c.copies == nil {
			continue
		}
		e.words[c.copies[0].Addr] = 0
		if _, err := Detect(e); c.want == inCopy && !errors.Is(err, managed.ErrNotYet) {
			t.Errorf("%s, before PHP begins: %v", c.name, err)
		}
	}
	if r, err := Detect(&embedding{alone: true}); r != nil || err == nil || errors.Is(err, managed.ErrNotYet) {
		t.Errorf("without the library: %v, %v", r, err)
	}
}
