// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
	"prywalk/ptrace"
)

// # Plans
//
// The steps of a plan load words, and copy ranges, lists of nodes and the objects to which these point. What one step
// has copied, later ones do not read again.
//
// An example: a thread of CPython 3.13 runs a generator that f iterates, which the module calls. The frames of f and
// the module are in the newest chunk of the thread's data stack, the generator's is in the generator object. The
// anchor, slot 0, is the thread state, 0x7f3c18004000 (makePlan of package cpython):
//
//	step                               reads                           gives
//	Copy   slot 0, Max 0x100           0x100 bytes at 0x7f3c18004000   region 1: the thread state
//	Load   slot 0 + 0xe8               (in region 1)                   slot 4 = 0x7f3c18100000, datastack_chunk
//	Load   slot 0 + 0xf0               (in region 1)                   slot 5 = 0x7f3c18100168, datastack_top
//	Copy   slot 4 to slot 5            0x168 bytes at 0x7f3c18100000   region 2: frames of f and the module
//	Load   slot 0 + 0x48               (in region 1)                   slot 6 = 0x7f3c18051258, current_frame
//	CopyList slot 6, Size 0x50, Next 8 page of 0x7f3c18051258          region 3, node 1: the generator's frame
//	                                   (in region 2)                   node 2: 0x7f3c181000a0, f's frame
//	                                   (in region 2)                   node 3: 0x7f3c18100020, the module's
//	                                   (in the copy of the stack)      node 4: 0x7ffd35c2a1d0, the frame owned by the C
//	                                                                   stack; its word at 8 is 0, so the list ends
//	CopyTargets Off 0, Size 0x90       0x90 bytes at 0x7f3c1803a4f0    region 4: code object of the generator; those of
//	                                                                   f and the module, and node 4's None, are in Skip

// of one observation; a read takes 1 to 3 µs
const (
	maxPlanReads   = 160
	maxPlanRegions = 160
)

const (
	maxNodesSearched = 64 // nodes of one FindNode
	pageSize         = 4 << 10
	blockSize        = 16 << 10 // read at once where nodes are dense
	fewPages         = 2
)

// planCopier is an [OtherMemory]: it carries out a thread's plans, one after the other.
type planCopier struct {
	ptrace.Wrapped
	// asleep: in a passive read.
	asleep bool

	assignment    assignment
	progress      progress
	buf           []byte
	nodes         [managed.MaxNodes]frames.Addr // the first nodeCount are valid
	savedNodesBuf [managed.MaxNodes]frames.Addr
	targets       [managed.MaxNodes]frames.Addr
}

type assignment struct {
	plan        *managed.Plan
	anchor      frames.Addr
	foundAnchor *frames.Addr // or nil
	innerTID    uint64
	others      []*managed.Plan
}

type progress struct {
	rd          *ptrace.Reader
	out         []frames.Region
	regionCount int
	lastRegion  frames.Region // where copyOf last found bytes
	lastIndex   int           // its index in out, or −1
	bufUsed     int
	slots       [managed.MaxSlots]frames.Addr
	nodeCount   int
	savedNodes  []frames.Addr // of the first list, or by SaveNodes
}

// use sets the plan of the next Regions. anchor is where the plan begins; 0: the plan finds it, first at *found, where
// it found that of the thread last time. innerTID is the id in the process's pid namespace, 0: unknown.
func (c *planCopier) use(plan *managed.Plan, anchor frames.Addr, innerTID int, found *frames.Addr) {
	if c.buf == nil {
		c.buf = make([]byte, managed.MaxBytes)
	}
	c.assignment = assignment{plan: plan, anchor: anchor, foundAnchor: found, innerTID: uint64(innerTID)}
}

// ReadLimit implements [ptrace.OtherMemory].
func (*planCopier) ReadLimit() int { return maxPlanReads }

// Regions implements [ptrace.OtherMemory]. The regions are valid until the next call.
func (c *planCopier) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	c.progress = progress{rd: rd, out: out, regionCount: c.InnerRegions(regs, rd, out), lastIndex: -1}
	c.carryOut(regs)
	first := c.assignment.plan
	for _, c.assignment.plan = range c.assignment.others {
		if c.assignment.plan != first {
			c.assignment.anchor, c.assignment.foundAnchor, c.progress.nodeCount, c.progress.savedNodes = 0, nil, 0, nil
			c.carryOut(regs)
		}
	}
	c.assignment = assignment{}
	c.progress.rd, c.progress.out, c.progress.lastRegion = nil, nil, frames.Region{}
	return c.progress.regionCount
}

func (c *planCopier) carryOut(regs *frames.Regs) {
	c.progress.slots = [managed.MaxSlots]frames.Addr{
		managed.SlotAnchor: c.assignment.anchor, managed.SlotSP: regs.SP(), managed.SlotThreadPointer: regs.TLS,
		managed.SlotInnerTID: c.assignment.innerTID,
	}
	if c.assignment.anchor == 0 && c.assignment.plan.FromThreadPointer {
		c.progress.slots[managed.SlotAnchor] = regs.TLS
	} else if c.assignment.anchor == 0 && !c.reuseFoundAnchor() {
		c.runSteps(c.assignment.plan.FindAnchor)
		if c.assignment.foundAnchor != nil {
			*c.assignment.foundAnchor = c.progress.slots[managed.SlotAnchor]
		}
	}
	if c.progress.slots[managed.SlotAnchor] != 0 {
		c.runSteps(c.assignment.plan.Steps)
	}
}

func (c *planCopier) runSteps(steps []managed.Step) {
	for i := range min(len(steps), managed.MaxSteps) {
		if !c.step(&steps[i]) {
			return
		}
	}
}

// step returns false if the plan ends.
func (c *planCopier) step(s *managed.Step) bool {
	if s.OnlyAsleep && !c.asleep {
		return true
	}
	at := c.progress.slots[s.Base%managed.MaxSlots] + uint64(s.Off)
	switch s.Op {
	case managed.Load:
		value := c.word(at)
		c.progress.slots[s.To%managed.MaxSlots] = value
		return value != 0
	case managed.Copy:
		c.copyPart(at, c.length(at, s))
	case managed.CopyArray:
		c.copyArray(at, s)
	case managed.AddScaled:
		c.progress.slots[s.To%managed.MaxSlots] += c.word(at) * uint64(s.Size)
	case managed.CopyList:
		c.copyList(at, s)
	case managed.CopyTargets:
		c.copyTargets(s)
	case managed.RestoreNodes:
		c.progress.nodeCount = copy(c.nodes[:], c.progress.savedNodes)
	case managed.SaveNodes:
		c.saveNodes()
	case managed.FindNode:
		at = c.findNode(at, s)
		c.progress.slots[s.To%managed.MaxSlots] = at
		return at != 0
	}
	return true
}

func (c *planCopier) length(at frames.Addr, s *managed.Step) uint64 {
	n := uint64(s.Max)
	if end := c.progress.slots[s.End%managed.MaxSlots]; s.End != 0 {
		if end <= at {
			return 0
		}
		n = min(n, end-at)
	}
	return n
}

func (c *planCopier) copyArray(at frames.Addr, s *managed.Step) {
	n, size := c.length(at, s), uint64(s.Size)
	c.progress.nodeCount = 0
	if size == 0 || n < size || !c.copyPart(at, n) {
		return
	}
	for end := at + n; end-at >= size && c.progress.nodeCount < len(c.nodes) && c.copyOf(at, size) != nil; at += size {
		c.nodes[c.progress.nodeCount] = at
		c.progress.nodeCount++
	}
}

func (c *planCopier) copyList(at frames.Addr, s *managed.Step) {
	if slices.Contains(c.progress.savedNodes, at) {
		return
	}
	size, most := uint64(s.Size), min(int(s.Max), len(c.nodes))
	var d density
	for c.progress.nodeCount = 0; at != 0 && c.progress.nodeCount < most &&
		c.copyNode(at, size, &d); c.progress.nodeCount++ {
		c.nodes[c.progress.nodeCount] = at
		at = c.word(at + uint64(int64(s.Next)))
	}
	if c.progress.savedNodes == nil {
		c.saveNodes()
	}
}

// copyNode returns false if the node is unreadable.
func (c *planCopier) copyNode(at frames.Addr, size uint64, d *density) bool {
	switch {
	case c.copyOf(at, size) != nil:
		d.countNode(c.progress.lastIndex)
	case c.readNode(at, size, d.bytesAround(at)):
		d.beginPiece(c.progress.lastIndex)
	default:
		return false
	}
	d.last = at
	return true
}

func (c *planCopier) saveNodes() {
	c.progress.savedNodes = c.savedNodesBuf[:copy(c.savedNodesBuf[:], c.nodes[:c.progress.nodeCount])]
}

// reuseFoundAnchor sets SlotAnchor to the thread's last result of FindNode; false if that does not hold any more.
func (c *planCopier) reuseFoundAnchor() bool {
	if c.assignment.foundAnchor == nil || *c.assignment.foundAnchor == 0 {
		return false
	}
	at := *c.assignment.foundAnchor
	for i := range c.assignment.plan.FindAnchor {
		s := &c.assignment.plan.FindAnchor[i]
		want := c.progress.slots[s.End%managed.MaxSlots]
		if s.Op != managed.FindNode || s.To != 0 || want == 0 {
			continue
		}
		if c.copyPart(at, uint64(s.Size)) && c.word(at+uint64(int64(s.At))) == want {
			c.progress.slots[managed.SlotAnchor] = at
			return true
		}
	}
	return false
}

func (c *planCopier) findNode(at frames.Addr, s *managed.Step) frames.Addr {
	want := c.progress.slots[s.End%managed.MaxSlots]
	for range min(int(s.Max), maxNodesSearched) {
		if at == 0 || want == 0 || !c.copyPart(at, uint64(s.Size)) {
			return 0
		}
		if c.word(at+uint64(int64(s.At))) == want {
			return at
		}
		at = c.word(at + uint64(int64(s.Next)))
	}
	return 0
}

// density shows how near to each other the nodes of a list are. A piece is what was read at once, for one node.
type density struct {
	pieces    int
	lastPiece int // its region
	nodes     int // found in the last piece, besides the one it was read for
	last      frames.Addr
}

// nodes found in a piece that make the next piece larger
const densePiece = 6

func (d *density) countNode(region int) {
	if d.pieces > 0 && region == d.lastPiece {
		d.nodes++
	}
}

func (d *density) beginPiece(region int) { d.pieces, d.lastPiece, d.nodes = d.pieces+1, region, 0 }

// bytesAround returns how many bytes to read for a node, up to the end of its page; 0: the node only.
func (d *density) bytesAround(at frames.Addr) uint64 {
	nearLast := at-d.last+pageSize <= 2*pageSize
	switch {
	case d.nodes >= densePiece:
		return blockSize
	case d.pieces < fewPages, d.nodes > 0, nearLast:
		return pageSize
	}
	return 0
}

// readNode reads a node, and with bytes up to its page's end if readable. It returns false if the node is not readable.
func (c *planCopier) readNode(at frames.Addr, size, with uint64) bool {
	end := max(at|(pageSize-1)+1, at+size)
	if with > pageSize {
		if from := max(end-min(with, end), c.progress.rd.MappingStart(at)); c.read(from, end-from) &&
			c.copyOf(at, size) != nil {
			return true
		}
	}
	if with > 0 {
		from := max(at&^(pageSize-1), c.progress.rd.MappingStart(at))
		if c.read(from, end-from) && c.copyOf(at, size) != nil {
			return true
		}
	}
	return c.read(at, size) && c.copyOf(at, size) != nil
}

func (c *planCopier) copyTargets(s *managed.Step) {
	n := 0
	for i := range c.progress.nodeCount {
		at := c.nodes[i] + uint64(int64(s.At))
		if s.Mask != 0 && c.word(at)&s.Mask != s.Value {
			continue
		}
		to := c.word(c.nodes[i]+uint64(s.Off)) &^ 7
		if to == 0 || to>>addressBits != 0 || slices.Contains(c.targets[max(n-comparedObjects, 0):n], to) ||
			c.assignment.plan.Skip.Has(to) {
			continue
		}
		if !c.copyObject(to+uint64(s.Next), s) {
			continue
		}
		c.targets[n] = to
		n++
		if n == min(len(c.targets), int(s.Max)) {
			break
		}
	}
	c.progress.nodeCount = copy(c.nodes[:], c.targets[:n])
}

const (
	addressBits     = 48 // of a user address
	comparedObjects = 8  // recursive calls have the same object
)

func (c *planCopier) copyObject(at frames.Addr, s *managed.Step) bool {
	size := uint64(s.Size)
	if s.WholePage {
		return c.copyOf(at, size) != nil || c.readNode(at, size, pageSize)
	}
	return c.copyPart(at, size)
}
