// SPDX-License-Identifier: Apache-2.0

// Package printable makes untrusted strings safe to show. Names of processes, threads and functions, paths, and
// comments of profiles are chosen by the target: a terminal obeys escape sequences in them, marks of writing
// direction disguise text. All text for people passes through here.
package printable
