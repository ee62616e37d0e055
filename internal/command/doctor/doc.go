// SPDX-License-Identifier: Apache-2.0

// Package doctor checks what the kernel, the user's rights and a target permit, and names the smallest remedy for what
// is missing. The checks are a table (checks.go); package process has the kernel's rules of access. Nothing is changed:
// what has no effect is tried, the rest is read from /proc.
package doctor
