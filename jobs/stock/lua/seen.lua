-- seen: runs on a shelf that has all changes that its caller knows of, and changes nothing.
return {}
