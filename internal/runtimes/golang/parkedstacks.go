// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/managed"
)

type copyState uint8

const (
	copyChanged copyState = iota // it ran, or g is invalid
	copyNoStack                  // ended, or on a thread's stack
	copyWhole
)

type goroutineCopy struct {
	state copyState
	sum   uint64 // of g
	g     Goroutine
	stack []byte // from sp on, valid until the next copy
}

// stackCopier reads a goroutine's stack twice, between two reads of its g; equal copies prove that the goroutine did
// not run.
type stackCopier struct {
	before, after [goroutineBytes]byte
	first, second []byte
}

const maxFollowedStack = 256 << 10 // bytes

// copyOf returns the copy of a goroutine by its g's address. Its state is copyChanged if it keeps changing.
func (s *stackCopier) copyOf(p *goroutinePoller, at uint64) (c goroutineCopy) {
	for range goroutineTries {
		if c = s.copyOnce(p, at); c.state != copyChanged {
			break
		}
	}
	return c
}

func (s *stackCopier) copyOnce(p *goroutinePoller, at uint64) (c goroutineCopy) {
	host := p.allgs.host
	if host.Read(at, s.before[:]) != len(s.before) {
		return c
	}
	c.g, c.sum = p.allgs.decode(at, s.before[:]), p.sum(s.before[:])
	if c.state = p.allgs.stateToCopy(&c.g); c.state != copyWhole {
		return c
	}
	n := int(min(c.g.StackHi-c.g.SP, maxFollowedStack))
	if n > len(s.first) {
		s.first, s.second = make([]byte, n), make([]byte, n)
	}
	c.stack = s.first[:n:n]
	all := managed.ReadRegions(host, host, []frames.Region{
		{Addr: c.g.SP, Bytes: c.stack}, {Addr: c.g.SP, Bytes: s.second[:n]}, {Addr: at, Bytes: s.after[:]},
	}, func(*frames.Region) {})
	if !all || !bytes.Equal(c.stack, s.second[:n]) || p.sum(s.after[:]) != c.sum {
		c.state = copyChanged
	}
	return c
}

// stateToCopy returns copyWhole for a g whose stack is still to be copied.
func (a *allgs) stateToCopy(g *Goroutine) copyState {
	switch {
	case g.ended():
		return copyNoStack
	case g.Status > goroutineLast || g.ID == 0 || g.StackLo >= g.StackHi || !a.startFuncs.at(g.Start).ok:
		return copyChanged
	case g.onThread():
		return copyNoStack
	}
	return copyWhole
}
