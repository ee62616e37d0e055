// SPDX-License-Identifier: Apache-2.0

package copyplan

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/ptrace"
)

// Bounds of one observation. A read takes 1 to 3 µs.
const (
	MaxReads   = 160
	MaxRegions = 160
)

const (
	maxNodesSearched = 64 // nodes of one FindNode
	pageSize         = 4 << 10
	blockSize        = 16 << 10 // read at once where nodes are dense
	fewPages         = 2
)

// Copier carries out plans, one at a time.
type Copier struct {
	// Asleep is set in a passive read.
	Asleep bool

	plan        *managed.Plan
	anchor      frames.Addr
	foundAnchor *frames.Addr // the thread's last result of FindNode; nil if it is not kept
	innerTID    uint64       // in the process's pid namespace

	slots [managed.MaxSlots]frames.Addr
	memory
	planNodes
	cachedNodes
}

type planNodes struct {
	nodes         [managed.MaxNodes]frames.Addr // of the last list, or what CopyTargets found
	nodeCount     int
	savedNodes    []frames.Addr
	savedNodesBuf [managed.MaxNodes]frames.Addr
	targets       [managed.MaxNodes]frames.Addr
}

// Use sets the plan of the next [Copier.Copy], the thread that it is for, and what that has read last. anchor is where
// the plan begins; 0: the plan finds it. innerTID is the thread's id in its process's pid namespace; 0: unknown.
func (p *Copier) Use(plan *managed.Plan, anchor frames.Addr, innerTID int, last *Last) {
	if p.buf == nil {
		p.buf = make([]byte, managed.MaxBytes)
	}
	p.plan = plan
	p.anchor = anchor
	p.innerTID = uint64(innerTID)
	p.cache = last.nodes
	p.foundAnchor = &last.foundAnchor
	p.ranges.cache = last.ranges
}

// Copy adds what the plan copies to the n regions of out, and returns the new number of regions. They are valid until
// the next call.
func (p *Copier) Copy(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region, n int) int {
	p.rd = rd
	p.out = out
	p.regionCount = n
	p.bufUsed = 0
	p.nodeCount = 0
	p.lastRegion = frames.Region{}
	p.lastIndex = -1
	p.savedNodes = nil
	p.nextCount = 0
	p.readRanges()
	p.slots = [managed.MaxSlots]frames.Addr{managed.SlotAnchor: p.anchor, managed.SlotSP: regs.SP(),
		managed.SlotThreadPointer: regs.TLS, managed.SlotInnerTID: p.innerTID}
	if p.anchor == 0 && !p.reuseFoundAnchor() {
		p.runSteps(p.plan.FindAnchor)
		if p.foundAnchor != nil {
			*p.foundAnchor = p.slots[managed.SlotAnchor]
		}
	}
	if p.slots[managed.SlotAnchor] != 0 {
		p.runSteps(p.plan.Steps)
	}
	p.ranges.updateCache()
	if p.cache != nil {
		p.cache.atCount, p.cache.until = copy(p.cache.at[:], p.cache.next[:p.nextCount]), 0
	}
	p.ranges.cache = nil
	p.rd = nil
	p.out = nil
	p.lastRegion = frames.Region{}
	p.cache = nil
	p.foundAnchor = nil
	return p.regionCount
}

func (p *Copier) runSteps(steps []managed.Step) {
	for i := range min(len(steps), managed.MaxSteps) {
		if !p.step(&steps[i]) {
			return
		}
	}
}

// step reports whether the plan goes on.
func (p *Copier) step(s *managed.Step) bool {
	if s.OnlyAsleep && !p.Asleep {
		return true
	}
	at := p.slots[s.Base%managed.MaxSlots] + uint64(s.Off)
	p.ranges.sameEachTime = s.Op != managed.CopyList && s.Op != managed.FindNode && !s.WholePage
	switch s.Op {
	case managed.Load:
		value := p.word(at)
		p.slots[s.To%managed.MaxSlots] = value
		return value != 0
	case managed.Copy:
		p.readMissing(at, p.length(at, s))
	case managed.CopyArray:
		p.copyArray(at, s)
	case managed.AddScaled:
		p.slots[s.To%managed.MaxSlots] += p.word(at) * uint64(s.Size)
	case managed.CopyList:
		p.copyList(at, s)
	case managed.CopyTargets:
		p.copyTargets(s)
	case managed.RestoreNodes:
		p.nodeCount = copy(p.nodes[:], p.savedNodes)
	case managed.SaveNodes:
		p.saveNodes()
	case managed.FindNode:
		at = p.findNode(at, s)
		p.slots[s.To%managed.MaxSlots] = at
		return at != 0
	}
	return true
}

func (p *Copier) length(at frames.Addr, s *managed.Step) uint64 {
	n := uint64(s.Max)
	if end := p.slots[s.End%managed.MaxSlots]; s.End != 0 {
		if end <= at {
			return 0
		}
		n = min(n, end-at)
	}
	return n
}

func (p *Copier) copyArray(at frames.Addr, s *managed.Step) {
	n, size := p.length(at, s), uint64(s.Size)
	p.nodeCount = 0
	if size == 0 || n < size || !p.readMissing(at, n) {
		return
	}
	for end := at + n; end-at >= size && p.nodeCount < len(p.nodes) && p.copyOf(at, size) != nil; at += size {
		p.nodes[p.nodeCount] = at
		p.nodeCount++
	}
}

func (p *Copier) copyList(at frames.Addr, s *managed.Step) {
	size := uint64(s.Size)
	if slices.Contains(p.savedNodes, at) {
		return
	}
	before, d := p.regionCount, density{piece: -1}
	for p.nodeCount = 0; at != 0 && p.nodeCount < min(int(s.Max), len(p.nodes)); p.nodeCount++ {
		switch {
		case p.copyOf(at, size) != nil || p.readCachedNodes() && p.copyOf(at, size) != nil:
			d.found(p.lastIndex)
		case !p.readNode(at, size, d.next(at)):
			return
		default:
			d.read(p.regionCount - 1)
		}
		d.last = at
		p.cacheNode(at, size, before)
		p.nodes[p.nodeCount] = at
		at = p.word(at + uint64(int64(s.Next)))
	}
	if p.savedNodes == nil {
		p.saveNodes()
	}
}

func (p *Copier) saveNodes() {
	p.savedNodes = p.savedNodesBuf[:copy(p.savedNodesBuf[:], p.nodes[:p.nodeCount])]
}

// reuseFoundAnchor sets SlotAnchor to the thread's last result of FindNode, if that still holds.
func (p *Copier) reuseFoundAnchor() bool {
	if p.foundAnchor == nil || *p.foundAnchor == 0 {
		return false
	}
	at := *p.foundAnchor
	for i := range p.plan.FindAnchor {
		s := &p.plan.FindAnchor[i]
		want := p.slots[s.End%managed.MaxSlots]
		if s.Op != managed.FindNode || s.To != 0 || want == 0 {
			continue
		}
		if (p.copyOf(at, uint64(s.Size)) != nil || p.read(at, uint64(s.Size))) && p.word(at+uint64(int64(s.At))) == want {
			p.slots[managed.SlotAnchor] = at
			return true
		}
	}
	return false
}

// findNode returns the node of a list that has the wanted word, or 0.
func (p *Copier) findNode(at frames.Addr, s *managed.Step) frames.Addr {
	want := p.slots[s.End%managed.MaxSlots]
	for range min(int(s.Max), maxNodesSearched) {
		if at == 0 || want == 0 || p.copyOf(at, uint64(s.Size)) == nil && !p.read(at, uint64(s.Size)) {
			return 0
		}
		if p.word(at+uint64(int64(s.At))) == want {
			return at
		}
		at = p.word(at + uint64(int64(s.Next)))
	}
	return 0
}

// density decides whether to read the whole page around a node: worth the room only if the page has other nodes.
type density struct {
	pieces int // read for nodes
	piece  int
	nodes  int // in the last piece
	last   frames.Addr
}

// densePiece nodes in a piece make the next piece larger.
const densePiece = 6

func (d *density) found(piece int) {
	if piece == d.piece {
		d.nodes++
	}
}

func (d *density) read(piece int) { d.pieces, d.piece, d.nodes = d.pieces+1, piece, 0 }

// next returns how many bytes to read for the node at an address; 0: the node only.
func (d *density) next(at frames.Addr) uint64 {
	switch {
	case d.nodes >= densePiece:
		return blockSize
	case d.pieces < fewPages, d.nodes > 0, at-d.last+pageSize <= 2*pageSize:
		return pageSize
	}
	return 0
}

// readNode reads a node, and with bytes up to its page's end if readable.
func (p *Copier) readNode(at frames.Addr, size, with uint64) bool {
	end := max(at|(pageSize-1)+1, at+size)
	if with > pageSize {
		if from := max(end-min(with, end), p.rd.MappingStart(at)); p.read(from, end-from) && p.copyOf(at, size) != nil {
			return true
		}
	}
	if with > 0 {
		from := max(at&^(pageSize-1), p.rd.MappingStart(at))
		if p.read(from, end-from) && p.copyOf(at, size) != nil {
			return true
		}
	}
	return p.read(at, size) && p.copyOf(at, size) != nil
}

// copyTargets replaces the nodes by the objects to which they point, and reads these.
func (p *Copier) copyTargets(s *managed.Step) {
	n := 0
	for i := range p.nodeCount {
		if p.skipsTarget(p.nodes[i]+uint64(int64(s.At)), s) {
			continue
		}
		to := p.word(p.nodes[i] + uint64(s.Off))
		to &^= 7
		if to == 0 || to>>addressBits != 0 || slices.Contains(p.targets[max(n-comparedObjects, 0):n], to) ||
			p.plan.Skip.Has(to) {
			continue
		}
		if p.copyOf(to+uint64(s.Next), uint64(s.Size)) == nil && !p.readObject(to+uint64(s.Next), s) {
			continue
		}
		p.targets[n] = to
		n++
		if n == min(len(p.targets), int(s.Max)) {
			break
		}
	}
	p.nodeCount = copy(p.nodes[:], p.targets[:n])
}

func (p *Copier) skipsTarget(at frames.Addr, s *managed.Step) bool {
	return s.OnlyZero && p.word(at) != 0 || s.Mask != 0 && (p.word(at)&s.Mask == s.Value) == s.Except
}

const (
	addressBits     = 48 // of a user address
	comparedObjects = 8  // last objects that are compared: recursive calls have the same one
)

func (p *Copier) readObject(at frames.Addr, s *managed.Step) bool {
	if s.WholePage {
		return p.readNode(at, uint64(s.Size), pageSize)
	}
	return p.read(at, uint64(s.Size))
}
