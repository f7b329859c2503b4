// Package oversell sells one product to many buyers at once, through each of the
// ways in which people guard its stock, so that they can be compared.
//
// Each way is a [Strategy], in a file of its own, made to be read and copied. None,
// Mutex and SetNX sell more than there is: they are here to show how. What they
// sell from is a shelf: [RedisShelf] or [SQLShelf].
package oversell
