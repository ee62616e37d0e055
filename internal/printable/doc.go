// SPDX-License-Identifier: Apache-2.0

// Package printable makes untrusted strings safe to show. The target chooses names of processes, threads and
// functions, paths, and comments of profiles: terminals obey escape sequences in them, and marks of writing direction
// disguise text. All text for people passes through this package.
package printable
