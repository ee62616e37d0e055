// SPDX-License-Identifier: Apache-2.0

// Package doctor finds out what the kernel, the user and a target allow, and says
// for each thing that is missing the smallest step that helps.
//
// Nothing is changed. What can be tried without effect is tried (a read of prywalk's own memory, a raised priority
// of a thread that ends at once), the rest is read from /proc. The checks about a target are those that the kernel
// makes before it lets one process look into another; package process holds them.
package doctor
