// SPDX-License-Identifier: Apache-2.0

package managed

import "prywalk/frames"

// ContextHost is a [Host] whose user asked for the contexts of requests.
type ContextHost interface {
	Host
	// NamedMapping returns the first mapping whose name begins with one of prefixes; false: there is none, or contexts
	// were not asked for.
	NamedMapping(prefixes ...string) (start, end uint64, ok bool)
	// ReadsContexts reports whether contexts were asked for.
	ReadsContexts() bool
	// ThreadLocalBlock returns the size and the alignment of a file's block of thread-local variables, bytes.
	ThreadLocalBlock(m *frames.Module) (size, align uint64, ok bool)
}

// ContextSource is a Runtime that knows the request on which a thread works.
type ContextSource interface {
	Runtime
	// Context returns the request's labels, or nil, from a thread's copied memory. innerTID is in the process's pid
	// namespace.
	Context(innerTID int, regs *frames.Regs, mem frames.Memory) map[string]string
}
