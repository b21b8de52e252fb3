//! Word lists that help to classify numbers and names.

/// Words for people who can have an age.
pub(super) const KIN: &str = "\
    child children kid kids son sons daughter daughters boy boys girl girls lad lads lass twin \
    twins brother brothers sister sisters nephew nephews niece nieces grandson granddaughter \
    grandchild grandchildren grandkids stepson stepdaughter toddler teenager player friend";

/// Words for things that are counted, measured or paid, so that a number before them is no age.
pub(super) const COUNTED: &str = "\
    people persons adults players friends spaces places spots seats tickets teams games matches \
    goals sessions more other others of times time minutes minute mins min hours hour hrs days day \
    weeks week months month miles mile km metres pounds quid euros dollars pence percent am pm o \
    oclock v vs a january february march april june july august september october";

/// Words that are followed by a number that is no age, such as an identifier.
pub(super) const NUMBERED: &str = "\
    number no flat house room floor size grade class postcode page shirt bus route unit apartment \
    season level row year nearly almost about roughly approximately turns turning becoming january \
    february march may april september october november";

/// The last words of street names.
pub(super) const STREETS: &str = "\
    road rd street st avenue ave lane drive close crescent court terrace grove gardens square way";

/// Words in the names of clubs and societies.
pub(super) const BODIES: &str = "\
    fc afc jfc club juniors junior united rovers city town athletic wanderers albion academy \
    society league hotspur rangers county villa lions association centre youth";

/// Words that do not distinguish one club from another.
pub(super) const GENERIC: &str = "\
    fc afc jfc club juniors junior football soccer youth team teams the boys girls kids agent a2a \
    orchestrator assistant bot api ai mcp official website site";

/// Words that begin sentences and are not part of a name there.
pub(super) const OPENERS: &str = "\
    a about an and any are as ask at book born but can check could did do does find for from has \
    have he hello her hey hi his how i if in is it its join let like looking may me might my need \
    no of on or our please she should so spaces tell that the their them there they this to us \
    want was we what when where which who why will with would you";
