// SPDX-License-Identifier: Apache-2.0

// Package descendants accounts for child processes that end before they are tracked.
//
//	from                            type                          used by
//	the kernel's records            [Table.Drain]: programs       childSamples of package perfengine, with samples
//	(package perfevents)
//	numbers of new processes, and   [ChildFinder]: one name at    newChildren of package tracer, for marks
//	reads of /proc                  each read
//
// Both find the nearest tracked ancestor. The caller's types stand for it, and for what is kept of a process.
package descendants
