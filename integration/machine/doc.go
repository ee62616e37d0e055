// SPDX-License-Identifier: Apache-2.0

// Package machine runs jobs in an emulated machine (qemu) that boots a kernel with an initrd of static programs, and
// reads what they write from its serial line. It is used by tests: of the other architecture, and of other kernels.
//
//   - init is the machine's first program: it mounts file systems and runs the jobs.
//   - inside has tests made for the machine: stacks of Go and C programs with known call chains.
//
// Emulated instructions take twenty to fifty times as long: what is judged there is no time.
package machine
