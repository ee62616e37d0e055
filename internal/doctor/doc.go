// SPDX-License-Identifier: Apache-2.0

// Package doctor checks what the kernel, the user's rights and a target permit, and names the smallest remedy for what
// is missing. The checks are a table (checks.go); package process has the kernel's rules of access.
//
// Nothing is changed: checks without effect are tried (a read of prywalk's own memory, the priority of a thread that
// then ends), the rest is read from /proc.
package doctor
