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

// These are limits of one observation. A read takes 1 to 3 µs.
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

	// What the next Regions does:
	asleep      bool // in a passive read
	plan        *managed.Plan
	others      []*managed.Plan
	anchor      frames.Addr
	foundAnchor *frames.Addr // or nil
	innerTID    uint64

	// The state of Regions:
	rd          *ptrace.Reader
	out         []frames.Region
	regionCount int
	lastRegion  frames.Region // where copyOf last found bytes
	lastIndex   int           // its index in out, or −1
	buf         []byte
	bufUsed     int
	slots       [managed.MaxSlots]frames.Addr
	nodes       [managed.MaxNodes]frames.Addr // the first nodeCount are valid
	nodeCount   int
	targets     [managed.MaxNodes]frames.Addr
	savedNodes  []frames.Addr // of the first list, or by SaveNodes
	savedBuf    [managed.MaxNodes]frames.Addr
}

// use sets the plan of the next Regions. anchor is where the plan begins. If it is 0, the plan finds it, first at
// *found, where it found that of the thread last time. innerTID is the id in the process's pid namespace, or 0 if
// unknown.
func (c *planCopier) use(plan *managed.Plan, anchor frames.Addr, innerTID int, found *frames.Addr) {
	if c.buf == nil {
		c.buf = make([]byte, managed.MaxBytes)
	}
	c.plan, c.others, c.anchor, c.foundAnchor, c.innerTID = plan, nil, anchor, found, uint64(innerTID)
}

// ReadLimit implements [ptrace.OtherMemory].
func (*planCopier) ReadLimit() int { return maxPlanReads }

// Regions implements [ptrace.OtherMemory]. The regions are valid until the next call.
func (c *planCopier) Regions(regs *frames.Regs, rd *ptrace.Reader, out []frames.Region) int {
	c.rd, c.out, c.regionCount = rd, out, c.InnerRegions(regs, rd, out)
	c.lastRegion, c.lastIndex, c.bufUsed, c.nodeCount, c.savedNodes = frames.Region{}, -1, 0, 0, nil
	c.carryOut(regs)
	first := c.plan
	for _, c.plan = range c.others {
		if c.plan != first {
			c.anchor, c.foundAnchor, c.nodeCount, c.savedNodes = 0, nil, 0, nil
			c.carryOut(regs)
		}
	}
	c.use(nil, 0, 0, nil)
	c.rd, c.out, c.lastRegion = nil, nil, frames.Region{}
	return c.regionCount
}

func (c *planCopier) carryOut(regs *frames.Regs) {
	c.slots = [managed.MaxSlots]frames.Addr{
		managed.SlotAnchor: c.anchor, managed.SlotSP: regs.SP(), managed.SlotThreadPointer: regs.TLS,
		managed.SlotInnerTID: c.innerTID,
	}
	if c.anchor == 0 && c.plan.FromThreadPointer {
		c.slots[managed.SlotAnchor] = regs.TLS
	} else if c.anchor == 0 && !c.reuseFoundAnchor() {
		c.runSteps(c.plan.FindAnchor)
		if c.foundAnchor != nil {
			*c.foundAnchor = c.slots[managed.SlotAnchor]
		}
	}
	if c.slots[managed.SlotAnchor] != 0 {
		c.runSteps(c.plan.Steps)
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
	at := c.slots[s.Base%managed.MaxSlots] + uint64(s.Off)
	switch s.Op {
	case managed.Load:
		value := c.word(at)
		c.slots[s.To%managed.MaxSlots] = value
		return value != 0
	case managed.Copy:
		c.copyPart(at, c.length(at, s))
	case managed.CopyArray:
		c.copyArray(at, s)
	case managed.AddScaled:
		c.slots[s.To%managed.MaxSlots] += c.word(at) * uint64(s.Size)
	case managed.CopyList:
		c.copyList(at, s)
	case managed.CopyTargets:
		c.copyTargets(s)
	case managed.RestoreNodes:
		c.nodeCount = copy(c.nodes[:], c.savedNodes)
	case managed.SaveNodes:
		c.saveNodes()
	case managed.FindNode:
		at = c.findNode(at, s)
		c.slots[s.To%managed.MaxSlots] = at
		return at != 0
	}
	return true
}

func (c *planCopier) length(at frames.Addr, s *managed.Step) uint64 {
	n := uint64(s.Max)
	if end := c.slots[s.End%managed.MaxSlots]; s.End != 0 {
		if end <= at {
			return 0
		}
		n = min(n, end-at)
	}
	return n
}

func (c *planCopier) copyArray(at frames.Addr, s *managed.Step) {
	n, size := c.length(at, s), uint64(s.Size)
	c.nodeCount = 0
	if size == 0 || n < size || !c.copyPart(at, n) {
		return
	}
	for end := at + n; end-at >= size && c.nodeCount < len(c.nodes) && c.copyOf(at, size) != nil; at += size {
		c.nodes[c.nodeCount] = at
		c.nodeCount++
	}
}

func (c *planCopier) copyList(at frames.Addr, s *managed.Step) {
	if slices.Contains(c.savedNodes, at) {
		return
	}
	size, most := uint64(s.Size), min(int(s.Max), len(c.nodes))
	var d density
	for c.nodeCount = 0; at != 0 && c.nodeCount < most && c.copyNode(at, size, &d); c.nodeCount++ {
		c.nodes[c.nodeCount] = at
		at = c.word(at + uint64(int64(s.Next)))
	}
	if c.savedNodes == nil {
		c.saveNodes()
	}
}

// copyNode returns false if the node is unreadable.
func (c *planCopier) copyNode(at frames.Addr, size uint64, d *density) bool {
	switch {
	case c.copyOf(at, size) != nil:
		d.countNode(c.lastIndex)
	case c.readNode(at, size, d.bytesAround(at)):
		d.beginPiece(c.lastIndex)
	default:
		return false
	}
	d.last = at
	return true
}

func (c *planCopier) saveNodes() {
	c.savedNodes = c.savedBuf[:copy(c.savedBuf[:], c.nodes[:c.nodeCount])]
}

// reuseFoundAnchor sets SlotAnchor to the thread's last result of FindNode. It returns false if that does not hold any
// more.
func (c *planCopier) reuseFoundAnchor() bool {
	if c.foundAnchor == nil || *c.foundAnchor == 0 {
		return false
	}
	at := *c.foundAnchor
	for i := range c.plan.FindAnchor {
		s := &c.plan.FindAnchor[i]
		want := c.slots[s.End%managed.MaxSlots]
		if s.Op != managed.FindNode || s.To != 0 || want == 0 {
			continue
		}
		if c.copyPart(at, uint64(s.Size)) && c.word(at+uint64(int64(s.At))) == want {
			c.slots[managed.SlotAnchor] = at
			return true
		}
	}
	return false
}

func (c *planCopier) findNode(at frames.Addr, s *managed.Step) frames.Addr {
	want := c.slots[s.End%managed.MaxSlots]
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

// densePiece is how many nodes, found in a piece, make the next piece larger.
const densePiece = 6

func (d *density) countNode(region int) {
	if d.pieces > 0 && region == d.lastPiece {
		d.nodes++
	}
}

func (d *density) beginPiece(region int) { d.pieces, d.lastPiece, d.nodes = d.pieces+1, region, 0 }

// bytesAround returns how many bytes to read for a node, up to the end of its page, or 0 for the node only.
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
		if from := max(end-min(with, end), c.rd.MappingStart(at)); c.read(from, end-from) && c.copyOf(at, size) != nil {
			return true
		}
	}
	if with > 0 {
		from := max(at&^(pageSize-1), c.rd.MappingStart(at))
		if c.read(from, end-from) && c.copyOf(at, size) != nil {
			return true
		}
	}
	return c.read(at, size) && c.copyOf(at, size) != nil
}

func (c *planCopier) copyTargets(s *managed.Step) {
	n := 0
	for i := range c.nodeCount {
		at := c.nodes[i] + uint64(int64(s.At))
		if s.Mask != 0 && c.word(at)&s.Mask != s.Value {
			continue
		}
		to := c.word(c.nodes[i]+uint64(s.Off)) &^ 7
		if to == 0 || to>>addressBits != 0 || slices.Contains(c.targets[max(n-comparedObjects, 0):n], to) ||
			c.plan.Skip.Has(to) || !c.copyObject(to+uint64(s.Next), s) {
			continue
		}
		c.targets[n] = to
		n++
		if n == min(len(c.targets), int(s.Max)) {
			break
		}
	}
	c.nodeCount = copy(c.nodes[:], c.targets[:n])
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
