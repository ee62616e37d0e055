// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

// Real files, read if they are installed.
const (
	libcPath = "/lib/x86_64-linux-gnu/libc.so.6"
	nodePath = "/usr/bin/node"
	cxxPath  = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
)
