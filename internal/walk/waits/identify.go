// SPDX-License-Identifier: Apache-2.0

package waits

import "strings"

// StackFunction is a function of a stack, and its file.
type StackFunction struct{ Function, Module string }

// MaxFunctions bounds the examined functions.
const MaxFunctions = 14

// IsIdentified reports whether outer native functions cannot change what a stack waits for.
func IsIdentified(stack []StackFunction) bool {
	_, done := identify(stack)
	return done
}

// identify returns the primitive at which a stack, innermost function first, waits: malloc's lock, not the mutex around
// malloc. A weakPrimitive is only taken if none of the other tables follows. done: outer native functions cannot
// change the answer.
func identify(stack []StackFunction) (p primitive, done bool) {
	musl := false
	for i := range stack[:min(len(stack), MaxFunctions)] {
		n := &stack[i]
		name, plain := n.Function, symbol(n.Function)
		musl = musl || isMusl(n.Module) || strings.HasPrefix(plain, "timedwait")
		if found, ok := libcPrimitives[plain]; ok {
			found.musl = musl
			found.unknownLayout = musl && found.kind != Mutex && found.kind != RWLock
			return found, len(stack) >= MaxFunctions || isOuterKnown(found.kind, stack[i:])
		}
		for j := range libraryPrimitives {
			if strings.Contains(name, libraryPrimitives[j].part) {
				p = libraryPrimitives[j].primitive
				p.unknownLayout = true
				return p, true
			}
		}
		if p.kind == NoWait {
			p = weakPrimitive(name, plain)
		}
		// musl's inner functions have no or wrong names
		inside := n.Module == stack[0].Module && (name == "" || isMusl(n.Module))
		if !inside && !isBelowPrimitive(name) {
			return p, true
		}
	}
	return p, len(stack) >= MaxFunctions
}

// isOuterKnown reports whether outer native functions cannot change a primitive of kind k, with whose function stack
// begins.
func isOuterKnown(k Kind, stack []StackFunction) bool {
	switch k {
	case Semaphore:
		return isSemaphoreIdentified(stack)
	case Condition:
		_, decided := hotspotWait(stack)
		return decided
	}
	return true
}
