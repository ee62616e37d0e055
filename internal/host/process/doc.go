// SPDX-License-Identifier: Apache-2.0

// Package process reads the state of processes and threads from /proc: which exist, whether they can be sampled, and
// what they wait for.
//
//	an open process        process.go threads.go
//	any process            status.go tree.go check.go (with the limits of prywalk)
//	names of calls, waits  syscalls.go; tables: tools/syscalls
//	obstacles              explain.go (also after a recording) gates.go; remedies: status.go
//
// All errors are explained here, so state and obstacles are one package. An obstacle is an [*Error] with cause and next
// step: from [Check] and [ReadStatus] at the start, from [Explain] for an error of another package. Explain goes
// through the [Gates], the kernel's checks, and reports the first that fails:
//
//	user → capabilities → dumpable → namespace → yama → tracer → proc files → seccomp → (security module)
//
// Sources: ptrace(2), "Ptrace access mode checking"; security/commoncap.c; Documentation/admin-guide/LSM/Yama.rst;
// proc(5).
package process
