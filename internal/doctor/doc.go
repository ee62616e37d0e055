// SPDX-License-Identifier: Apache-2.0

// Package doctor checks what the kernel, the user's rights and a target permit, and names the smallest remedy for what
// is missing. The checks are a table (checks.go); package process has the kernel's rules of access. Checks without
// effect are tried, the rest is read from /proc.
package doctor
