// SPDX-License-Identifier: Apache-2.0

package php

import (
	"encoding/binary"
	"errors"
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// starting is a program of PHP whose globals are still empty, as before its first request.
type starting struct {
	image
	module uint64 // what sapi_module has
}

func (s *starting) Read(addr uint64, b []byte) int {
	clear(b)
	if addr == s.at+16 && len(b) == 8 {
		binary.LittleEndian.PutUint64(b, s.module)
	}
	return len(b)
}

// TestWorkersAreKnownBeforeTheirFirstRequest: PHP is known once it has begun, also where it has run nothing yet.
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

// mapped is a program of PHP with some modules.
type mapped struct {
	image
	mods []*frames.Module
}

func (m *mapped) Modules() []*frames.Module { return m.mods }

// place is where a module comes from.
type place string

func (p place) Place() (string, uint64) { return string(p), 0 }

// TestTheCompilersCodeStaysKnownWhenCodeIsAdded: where code is mapped later, the modules before are kept as they are.
// Private memory has code of regular expressions.
func TestTheCompilersCodeStaysKnownWhenCodeIsAdded(t *testing.T) {
	loop := &frames.Module{Name: "/usr/bin/php8.2", Start: 1 << 20, End: 2 << 20}
	made := &frames.Module{Name: "[anon]", Start: 4 << 20, End: 5 << 20, Generated: true, Origin: place("/dev/zero")}
	private := &frames.Module{Name: "[anon]", Start: 6 << 20, End: 7 << 20, Generated: true, Origin: place("")}
	h := &mapped{mods: []*frames.Module{loop, made}}
	r := &Runtime{module: loop, name: loop.Name, host: h}
	r.jit.known = true
	for range 2 {
		if !r.Attach(h) || !r.jit.has(made.Start) || r.jit.has(private.Start) || len(made.Sources) != 1 || private.NoFP {
			t.Errorf("%+v, %d sources", r.jit.spans, len(made.Sources))
		}
		h.mods = append(h.mods, private)
	}
}
