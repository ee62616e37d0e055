// SPDX-License-Identifier: Apache-2.0

// Package printable makes strangers' strings fit to be shown. Names of processes, threads and functions, paths, and
// the comments of other tools' profiles come from whoever runs the target. A terminal obeys escape sequences in them;
// marks of writing direction make a text look like another one. Whatever prywalk writes for people goes through here.
package printable
