// SPDX-License-Identifier: Apache-2.0

// Package php names the frames of PHP 7.4 to 8.5, for [prywalk/internal/managed].
//
// The engine has a record of each call, its execute data, on a stack of its own. Each leads to the one before, the
// executor's globals to the innermost. A plan copies, in the stop of the native stack, the used part of that stack,
// records elsewhere (generators), and the identities of functions.
//
// # Merging
//
// A native frame of execute_ex, or of the JIT compiler's code, which runs in its frame, runs the calls of user
// functions up to one entered from C (ZEND_CALL_TOP). Its register r14 (x27 on arm64; ZEND_VM_FP_GLOBAL_REG,
// Zend/zend_execute.c) has the execute data, and the functions that it calls keep it. So the address of a run's
// innermost user call is in the registers, or on the stack further in. A contradiction invalidates the walk's PHP
// frames. Internal functions have execute data, too. A fiber has a C stack of its own, at whose end the calls that
// resumed it follow.
//
// # Names
//
// Closures are freed at any time; what no cache keeps, at the request's end. A name is given if the thread has slept
// since, or if the identity copied in the stop is the function's now, with the hashes of its texts, which the engine
// keeps with them; else the frame is [freed]. Not copied: functions of the engine, of opcache's memory, and of a
// program that is one request long.
//
// Sources: php-src, Zend/zend_compile.h (_zend_execute_data, _zend_op_array, _zend_op), Zend/zend_globals.h
// (_zend_executor_globals), Zend/zend_types.h (_zend_string), Zend/zend_generators.h, Zend/zend_fibers.c, TSRM/TSRM.c.
package php
