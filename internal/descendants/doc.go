// SPDX-License-Identifier: Apache-2.0

// Package descendants accounts for child processes that end before they are tracked.
//
//	from                            type                          used by
//	the kernel's records            [Table.Drain]: programs       childSamples of package perfengine, with samples
//	(package perfevents)            [Table.DrainClocks]: also     childClocks of package perfengine
//	                                CPU time, by switches
//	numbers of new processes, and   [ChildFinder]: one name at    newChildren of package tracer, for marks; for CPU time
//	reads of /proc                  each read, and CPU time       without records of it
//
// All find the nearest tracked ancestor. The caller's types stand for it, and for what is kept of a process.
package descendants
