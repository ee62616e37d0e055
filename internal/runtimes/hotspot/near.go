package hotspot

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// # Reading little
//
// Each read of another process is a system call, and further bytes beside cost little. So what is read for one
// question or one walk is read in units, and kept until its end. Places that are known to be needed are read in one
// call. A question that needs two readings of the same memory says where the second begins.

const (
	nearUnit = 1 << 10 // bytes of a unit, at most: they never cross a page
	maxNear  = 512     // units that are kept
	// maxTogether is how many units a place may have that is read by way of them.
	maxTogether = 4

	indexBits = 10 // of the table of units: twice as many as there are
	unread    = -1

	// maxParts is how many places one call reads (procmem.MaxParts), and maxFailed how many of them may fail before the
	// rest waits until it is asked for.
	maxParts  = procmem.MaxParts
	maxFailed = 4
)

// near reads memory for one question.
type near struct {
	v       *VM
	unit    uint64 // a power of two
	on      bool
	since   int64 // nothing that is kept was read before, CLOCK_MONOTONIC ns
	count   int
	asked   int // units from here on are wanted, and not read yet
	reads   int // how often memory was read
	at      [maxNear]uint64
	size    [maxNear]int // bytes that were read of a unit, or unread
	index   [1 << indexBits]uint16
	bytes   [maxNear * nearUnit]byte
	parts   [maxParts]frames.Region
	units   [maxParts]unitRange
	through func(uint64, []byte) int // the method Read
}

// unitRange is the units of a part.
type unitRange struct{ first, end int }

func newNear(v *VM) *near {
	k := &near{v: v, unit: nearUnit}
	k.through = k.Read
	return k
}

// use turns it on, and tells since when what it says holds. What was read before some moment does not count.
func (k *near) use(after int64) (since int64) {
	k.on = true
	if k.since < after {
		k.drop()
	}
	if k.count == 0 {
		k.since = procmem.Now()
	}
	return k.since
}

// done turns it off. What was read is kept.
func (k *near) done() { k.on = false }

// drop forgets what was read.
func (k *near) drop() {
	if k.count != 0 {
		k.count, k.asked = 0, 0
		clear(k.index[:])
	}
}

// Read reads memory, and keeps it.
func (k *near) Read(addr uint64, b []byte) (done int) {
	if uint64(len(b)) > maxTogether*k.unit {
		k.reads++
		return k.v.o.Read(addr, b)
	}
	if first, last := addr&^(k.unit-1), (addr+uint64(len(b))-1)&^(k.unit-1); first < last {
		k.fetch(extent{addr, uint64(len(b))})
	}
	for done < len(b) {
		at := addr + uint64(done)
		i := k.load(at &^ (k.unit - 1))
		off := at & (k.unit - 1)
		if off >= uint64(k.size[i]) {
			return done
		}
		done += copy(b[done:], k.kept(i)[off:k.size[i]])
	}
	return done
}

// kept is where the bytes of a unit are.
func (k *near) kept(i int) []byte { return k.bytes[i*nearUnit : (i+1)*nearUnit] }

// slotOf gives where the search for a unit begins in the table.
func slotOf(at uint64) uint64 { return at * 0x9e3779b97f4a7c15 >> (64 - indexBits) } // Fibonacci hashing

// find gives which unit is the one at an address, −1 if none is.
func (k *near) find(at uint64) int {
	for p := slotOf(at); ; p = (p + 1) % uint64(len(k.index)) {
		i := int(k.index[p]) - 1
		if i < 0 || k.at[i] == at {
			return i
		}
	}
}

// slot makes room for a unit. When there is no more, all others go.
func (k *near) slot(at uint64) int {
	if k.count == maxNear {
		k.drop()
	}
	i, p := k.count, slotOf(at)
	for k.index[p] != 0 {
		p = (p + 1) % uint64(len(k.index))
	}
	k.index[p] = uint16(i + 1)
	k.at[i], k.size[i] = at, unread
	k.count++
	return i
}

// load gives the unit at an address, read if it was not.
func (k *near) load(at uint64) int {
	i := k.find(at)
	if i < 0 {
		i = k.slot(at)
	}
	if k.size[i] == unread {
		k.reads++
		k.size[i] = max(k.v.o.Read(at, k.kept(i)[:k.unit]), 0)
	}
	return i
}

// extent is a place that will be read, with its size.
type extent struct{ addr, size uint64 }

// gathers reports whether several places can be read in one call.
func (k *near) gathers() bool { return k.on && k.v.o.Gather != nil }

// want notes a place that will be read. An address of 0 is none.
func (k *near) want(p extent) {
	if p.addr < nearUnit || p.size > maxTogether*k.unit || !k.gathers() {
		return
	}
	for at := p.addr &^ (k.unit - 1); at < p.addr+p.size && k.count < maxNear; at += k.unit {
		if k.find(at) < 0 {
			k.slot(at)
		}
	}
}

// get reads what is wanted, in the order in which it was noted, in as few calls as can be.
func (k *near) get() {
	if k.gathers() {
		k.gather(k.asked)
		k.asked = k.count
	}
}

// fetch reads what is not there of some places, in one call if that can be had. Their order is that in which they are
// read.
func (k *near) fetch(places ...extent) {
	for _, p := range places {
		k.want(p)
	}
	k.get()
}

// again reads all that is kept once more, in the same order.
func (k *near) again() {
	if k.v.o.Gather == nil {
		k.drop()
		return
	}
	for i := range k.count {
		k.size[i] = unread
	}
	k.gather(0)
}

// gather reads the units from one on that are not read. Those that cannot be read so are read when they are asked for.
func (k *near) gather(from int) {
	for failed := 0; from < k.count && failed < maxFailed; {
		n, next := k.collect(from)
		if n == 0 {
			return
		}
		k.reads++
		whole := min(max(k.v.o.Gather(k.parts[:n]), 0), n)
		for _, u := range k.units[:whole] {
			for i := u.first; i < u.end; i++ {
				k.size[i] = int(k.unit)
			}
		}
		if from = next; whole < n {
			from = k.units[whole].end
			failed++
		}
	}
}

// collect fills the parts of one call, with units from one on that are not read, and gives where the next call goes on.
// Units that follow each other in memory are one part.
func (k *near) collect(from int) (n, next int) {
	for i := from; i < k.count; i++ {
		if k.size[i] != unread {
			continue
		}
		if n > 0 && k.unit == nearUnit && k.units[n-1].end == i && k.at[i-1]+nearUnit == k.at[i] {
			k.units[n-1].end++
			k.parts[n-1].Bytes = k.bytes[k.units[n-1].first*nearUnit : (i+1)*nearUnit]
			continue
		}
		if n == maxParts {
			return n, i
		}
		k.units[n] = unitRange{i, i + 1}
		k.parts[n] = frames.Region{Addr: k.at[i], Bytes: k.kept(i)[:k.unit]}
		n++
	}
	return n, k.count
}

// # Foreseeing
//
// The frames of a walk are met one after the other, and each leads to its names by several steps. But the copy of the
// stack has all of them. So the first that needs memory has it read for the others, too, step by step: what the same
// step of all leads to is read in one call. Nothing is decided here. What is there is looked at by those who need it,
// in their own order; what is missing they read.

const (
	foreseenStack = 2 << 10 // bytes of the stack that are searched at a time
	mostForeseen  = 32      // addresses of code, or methods, that are foreseen at a time
	mostRefs      = 256     // compiled frames of a walk that are remembered
	mostStep      = 1 << 16 // bytes between two interpreted frames
	roomForeseen  = 256     // units that they take at most, mostly
)

// foreseeing is what is kept for it.
type foreseeing struct {
	stack   uint64 // so far the stack has been searched in this walk
	chain   uint64 // and so far interpreted frames
	codes   [mostForeseen]uint64
	methods []aMethod
	refs    []managed.Ref // the compiled frames of the walk
	covered int           // of these
	told    map[managed.Ref]struct{}
	always  bool // who walks asks in each walk, as a dump does
	spare   []call
}

// aMethod is a method on the way to its names.
type aMethod struct {
	at uint64
	id methodIdentity
}

// forgetForeseen begins a walk.
func (n *Names) forgetForeseen() {
	s := &n.foreseen
	s.stack, s.chain, s.refs, s.covered = 0, 0, s.refs[:0], 0
}

// foresees turns the reading on, with room for what is foreseen.
func (n *Names) foresees() *near {
	k := n.v.near
	if k.count > maxNear-roomForeseen {
		k.drop()
	}
	k.use(n.at)
	return k
}

// foreseeCode reads what the code of a frame leads to, and return addresses behind it on the stack: the headers of
// compiled methods, and the places in them. Of those that are known, only what tells whether they are still the same.
func (n *Names) foreseeCode(f *frames.Frame) {
	s := &n.foreseen
	if n.v.o.Gather == nil || f.SP < s.stack || f.SP == 0 {
		return
	}
	k := n.foresees()
	defer k.done()
	unknown := n.foreseeSite(s.codes[:0], site{f.PC, f.Caller})
	at := f.SP
	for ; at < f.SP+foreseenStack && len(unknown) < cap(unknown); at += 8 {
		pc, ok := n.word(at)
		if !ok {
			break
		}
		if n.v.inHeaps(pc) != nil {
			unknown = n.foreseeSite(unknown, site{pc, true})
		}
	}
	s.stack = at + 1
	k.get()
	for _, pc := range unknown {
		h := n.v.inHeaps(pc)
		if h == nil {
			continue
		}
		if at, ok := h.block(n.v.memory(), pc); ok {
			k.want(extent{at, n.l.sizes["HeapBlock"] + n.l.entry})
		}
	}
	k.get()
	for _, pc := range unknown {
		if c, ok := n.compiledAt(&blob{}, pc); ok && c.pcs.size() <= window {
			k.want(extent{c.pcs.low, c.pcs.size()})
		}
	}
	k.get()
}

// foreseeSite wants the first step for an address of code, and appends it if there are further ones.
func (n *Names) foreseeSite(unknown []uint64, at site) []uint64 {
	p := n.sites[at]
	switch {
	case p != nil && p.code != nil && p.code.checked < n.at:
		id, method := n.idOf(p.code)
		n.v.near.want(id)
		n.v.near.want(method)
	case p == nil && !slices.Contains(unknown, at.pc):
		if _, lasts := n.v.lasting(at.pc); lasts {
			break
		}
		if h := n.v.inHeaps(at.pc); h != nil {
			n.v.near.want(h.mapOf(at.pc))
			return append(unknown, at.pc)
		}
	}
	return unknown
}

// foreseeInterpreted reads what the interpreted frames from one on lead to. Their frame pointers are a chain.
func (n *Names) foreseeInterpreted(fp uint64) {
	s := &n.foreseen
	if n.v.o.Gather == nil || fp < s.chain {
		return
	}
	s.chain = fp + 1
	s.methods = s.methods[:0]
	for len(s.methods) < mostForeseen {
		at, ok := n.word(fp - atMethod)
		next, ok2 := n.word(fp)
		if !ok || !ok2 {
			break
		}
		n.wantMethod(at)
		if s.chain = fp + 1; next <= fp || next-fp > mostStep {
			break
		}
		fp = next
	}
	n.foreseeMethods()
}

// foreseeCompiled reads what a compiled frame of the walk leads to, and those behind it that nobody has asked for yet.
// Who keeps names asks for each once; who does not, as a dump, needs all of them in each walk.
func (n *Names) foreseeCompiled(r managed.Ref) {
	s := &n.foreseen
	if _, told := s.told[r]; told {
		s.always = true
	}
	first := slices.Index(s.refs[s.covered:], r)
	if n.v.o.Gather == nil || first < 0 {
		return
	}
	first += s.covered
	end := min(first+mostForeseen, len(s.refs))
	k := n.foresees()
	for _, r := range s.refs[first:end] {
		if c := n.unnamed(r); c != nil {
			k.want(extent{c.scopes.low + r.Position>>32, uint64(len(n.scope))})
			k.want(extent{c.scopes.low + uint64(uint32(r.Position)), uint64(len(n.scope))})
			k.want(extent{c.metas.low, min(c.metas.size(), nearUnit)})
		}
	}
	k.get()
	s.methods = s.methods[:0]
	for s.covered = first; s.covered < end && len(s.methods) < mostForeseen; s.covered++ {
		r := s.refs[s.covered]
		if c := n.unnamed(r); c != nil {
			s.spare, _ = n.chain(c, uint32(r.Position>>32), s.spare[:0])
			for _, at := range append(s.spare, call{method: c.method}) {
				n.wantMethod(at.method)
			}
		}
	}
	k.done()
	n.foreseeMethods()
}

// unnamed gives the code of a frame that nobody has asked for yet, nil if somebody has, or if it is not known.
func (n *Names) unnamed(r managed.Ref) *compiled {
	if _, told := n.foreseen.told[r]; told && !n.foreseen.always {
		return nil
	}
	if c := n.code[r.Object]; c != nil && c.cookie() == r.Cookie {
		return c
	}
	return nil
}

// told takes note of a frame that is asked for.
func (n *Names) told(r managed.Ref) {
	s := &n.foreseen
	if s.told == nil {
		s.told = map[managed.Ref]struct{}{}
	}
	if len(s.told) >= maxSites {
		clear(s.told)
	}
	s.told[r] = struct{}{}
}

// wantMethod notes a method, if it is to be read in this walk.
func (n *Names) wantMethod(at uint64) {
	s := &n.foreseen
	if known := n.methods[at]; at < nearUnit || at%8 != 0 || known != nil && known.checked >= n.at ||
		len(s.methods) == mostForeseen {
		return
	}
	for i := range s.methods {
		if s.methods[i].at == at {
			return
		}
	}
	s.methods = append(s.methods, aMethod{at: at})
}

// foreseeMethods reads what the methods that were noted lead to, in the steps of identify and readMethod.
func (n *Names) foreseeMethods() {
	s, l := &n.foreseen, n.l
	if len(s.methods) < 2 {
		return // it has nobody to share with
	}
	k := n.foresees()
	defer k.done()
	each := func(step func(m *aMethod)) {
		for i := range s.methods {
			step(&s.methods[i])
		}
		k.get()
	}
	each(func(m *aMethod) { k.want(extent{m.at + l.off("Method::_constMethod"), 8}) })
	each(func(m *aMethod) {
		m.id.constMethod = n.v.memory().word(m.at + l.off("Method::_constMethod"))
		k.want(extent{m.id.constMethod, l.sizes["ConstMethod"] + 8})
	})
	each(func(m *aMethod) {
		cm := n.constMethod[:l.sizes["ConstMethod"]+8]
		n.v.memory().bytes(m.id.constMethod, cm)
		n.pointsTo(&m.id, cm)
		k.want(extent{m.id.constants, l.sizes["ConstantPool"]})
		k.want(extent{n.constantAt(&m.id, m.id.nameIndex), 8})
		if known := n.methods[m.at]; known == nil {
			from := l.sizes["ConstMethod"] + l.value(cm, "ConstMethod::_code_size")
			if size := 8*l.value(cm, "ConstMethod::_constMethod_size") - from; l.value(cm, l.flags)&hasLines != 0 {
				k.want(extent{m.id.constMethod + from, size})
			}
		}
	})
	each(func(m *aMethod) {
		n.v.memory().bytes(m.id.constants, n.pool[:l.sizes["ConstantPool"]])
		m.id.holder = l.value(n.pool[:], "ConstantPool::_pool_holder")
		k.want(n.symbolAt(n.v.memory().word(n.constantAt(&m.id, m.id.nameIndex))))
		k.want(extent{m.id.holder + l.off("Klass::_name"), 8})
		k.want(n.tagOf(m.id.nameIndex))
		k.want(n.sourceAt(&m.id))
	})
	each(func(m *aMethod) {
		n.v.memory().bytes(m.id.constants, n.pool[:l.sizes["ConstantPool"]])
		file := n.sourceIndex(&m.id)
		k.want(n.symbolAt(n.v.memory().word(m.id.holder + l.off("Klass::_name"))))
		k.want(n.tagOf(file))
		k.want(extent{n.constantAt(&m.id, file), 8})
	})
	each(func(m *aMethod) {
		n.v.memory().bytes(m.id.constants, n.pool[:l.sizes["ConstantPool"]])
		k.want(n.symbolAt(n.v.memory().word(n.constantAt(&m.id, n.sourceIndex(&m.id)))))
	})
}
