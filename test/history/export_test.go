package history

// FirstHalf returns the part of a history that is searched if the whole takes too long.
var FirstHalf = firstHalf
