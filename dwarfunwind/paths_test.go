// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

const (
	libcPath = "/lib/x86_64-linux-gnu/libc.so.6"
	nodePath = "/usr/bin/node"
	cxxPath  = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
)
