// SPDX-License-Identifier: Apache-2.0

// Package printable makes untrusted strings safe to show: terminals obey escape sequences in names, paths and comments
// that a target chooses, and marks of writing direction disguise text. All text for people passes through it.
package printable
