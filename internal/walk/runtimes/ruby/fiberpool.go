// SPDX-License-Identifier: Apache-2.0

package ruby

import "encoding/binary"

// # Stacks of fibers
//
// All fibers but each thread's first have a stack of one pool (cont.c). Its variable is hidden and found by contents:
//
//	fiber_pool               fiber_pool_allocation    one stack, each stride bytes
//	 0  allocations ───────►  0  base ──────────────► guard page
//	16  size of a stack       8  size                 machine stack …  ◄ grows down
//	24  count                16  stride               VM stack, vm_stack_size bytes
//	56  vm_stack_size        24  count
//	                         32  pool, then next; 2.7: pool at 40, next at 56
//
// The outermost frames of a fiber's machine stack are alike, and contain the address of its struct rb_fiber_struct, or
// of the execution context in it. It is that of the fiber if its VM stack is this one: contexts of ended fibers have
// none.

const (
	poolSize, poolCount, poolVMSize = 16, 24, 56

	stacksSize, stacksStride, stacksCount = 8, 16, 24

	guardPage       = 4096
	minFiberStack   = 16 << 10
	maxFiberStack   = 1 << 30
	maxFibers       = 1 << 17 // stacks of a pool
	maxAllocations  = 1 << 10
	outermostFrames = 1 << 10 // bytes
)

type fiberPool struct {
	vm      *rubyVM
	at      uint64 // 0 means unknown
	vmSize  uint64
	inFiber uint64 // offset of the context in a fiber
	// distance is of the word that leads to each context, in bytes below the VM stack, or 0 if that is unknown. isContext
	// means that it is the context's address.
	distance  int
	isContext bool
}

func (p *fiberPool) find() bool {
	if p.at != 0 && p.isPool(p.at) {
		return true
	}
	p.at = 0
	p.vm.scan(func(at uint64, b []byte) bool {
		size, count := binary.LittleEndian.Uint64(b[poolSize:]), binary.LittleEndian.Uint64(b[poolCount:])
		if isPointer(binary.LittleEndian.Uint64(b)) && size >= minFiberStack && size < maxFiberStack &&
			size%guardPage == 0 && count > 0 && count <= maxFibers && p.isPool(at) {
			p.at = at
		}
		return p.at != 0
	})
	return p.at != 0
}

func (p *fiberPool) isPool(at uint64) bool {
	first, size := p.vm.heap.word(at), p.vm.heap.word(at+poolSize)
	p.vmSize = p.vm.heap.word(at + poolVMSize)
	return isPointer(first) && p.vm.heap.word(first+stacksSize) == size &&
		p.vm.heap.word(first+stacksStride) == size+guardPage &&
		p.nextAllocation(first, at) != first && p.vmSize%8 == 0 && p.vmSize >= guardPage && p.vmSize < size
}

// nextAllocation returns the same one if it is not of the pool.
func (p *fiberPool) nextAllocation(at, pool uint64) uint64 {
	switch pool {
	case p.vm.heap.word(at + 32):
		return p.vm.heap.word(at + 40)
	case p.vm.heap.word(at + 40):
		return p.vm.heap.word(at + 56)
	}
	return at
}

// contexts yields the execution contexts and VM stacks of fibers that have begun; whole means all stacks were read.
func (p *fiberPool) contexts(yield func(ec, stack uint64)) (whole bool) {
	at, left := p.vm.heap.word(p.at), maxFibers
	for range maxAllocations {
		if at == 0 {
			return true
		}
		base, size := p.vm.heap.word(at), p.vm.heap.word(at+stacksSize)
		stride, count := p.vm.heap.word(at+stacksStride), p.vm.heap.word(at+stacksCount)
		if !isPointer(base) || size < minFiberStack || size >= maxFiberStack || stride != size+guardPage ||
			count > uint64(left) {
			return false
		}
		left -= int(count)
		for ; count > 0; count-- {
			stack := base + stride - p.vmSize
			if ec := p.contextOf(stack); ec != 0 {
				yield(ec, stack)
			}
			base += stride
		}
		next := p.nextAllocation(at, p.at)
		if next == at {
			return false
		}
		at = next
	}
	return false
}

func (p *fiberPool) contextOf(stack uint64) (ec uint64) {
	if p.distance != 0 {
		return p.contextAt(p.vm.heap.word(stack-uint64(p.distance)), stack, p.isContext)
	}
	var b [outermostFrames]byte
	n := p.vm.host.Read(stack-outermostFrames, b[:])
	for i := n - 8; i >= 0; i -= 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		for _, isContext := range []bool{false, true} {
			if ec = p.contextAt(v, stack, isContext); ec != 0 {
				p.distance, p.isContext = outermostFrames-i, isContext
				return ec
			}
		}
	}
	return 0
}

// contextAt returns the context that a word leads to if it has this VM stack, else 0.
func (p *fiberPool) contextAt(word, stack uint64, isContext bool) (ec uint64) {
	if !isContext {
		word += p.inFiber
	}
	if !isPointer(word) || p.vm.heap.word(word+ecStack) != stack || p.vm.heap.word(word+ecSize)*8 > p.vmSize ||
		p.vm.heap.word(word+uint64(p.vm.heap.ecThread)-8)+p.inFiber != word {
		return 0
	}
	return word
}
